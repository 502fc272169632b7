package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestReplayEqualsTheFirstAnswerAndIsMarked(t *testing.T) {
	responses := map[string]reply{
		"plain": {
			Status: 201, Headers: map[string]string{"Location": "/charges/1", "X-Empty": ""}, Body: `{"id":1}`,
		},
		"no headers": {Status: 204},
		"empty maps": {Status: 200, Headers: map[string]string{}, Multi: map[string][]string{}},
		"multi only": {
			Status: 200, Multi: map[string][]string{"Vary": {"Accept", "Origin"}, "X-None": {}, "X-Nil": nil},
		},
		"both": {
			Status: 200, Headers: map[string]string{"A": "1"}, Multi: map[string][]string{"A": {"1", "2"}},
		},
		"base64":   {Status: 200, Body: "AAEC/w==", Base64: true},
		"odd text": {Status: 200, Body: "<a href=\"x\">&amp;\u2028\u2029\u0000\U0001F600</a>\r\n"},
		"client error": {
			Status: 422, Headers: map[string]string{"Content-Type": "application/problem+json"}, Body: "{}",
		},
		"redirect":      {Status: 303, Headers: map[string]string{"location": "https://example.com/?a=b&c=<d>"}},
		"large numbers": {Status: 200, Body: `{"amount":9007199254740993}`},
	}
	for name, response := range responses {
		t.Run(name, func(t *testing.T) {
			every := everyDoor
			if response.Multi != nil {
				every = everyWideDoor
			}
			every(t, func(t *testing.T, d door) {
				a := d.open(t)
				a.answers(response)
				first := a.send(ask{key: "k"})
				assert.False(t, first.replayed())
				assert.Equal(t, response.unmarked(), first.unmarked(), "the first answer is the handler's own")
				for range 2 {
					r := a.send(ask{key: "k"})
					assert.Equal(t, "true", r.Headers["Idempotent-Replayed"])
					delete(r.Headers, "Idempotent-Replayed")
					assert.Equal(t, first, r, "the expiry included")
				}
				a.assertExecuted(1)
				assert.Equal(t, report.Replayed, a.event().Outcome)
			})
		})
	}
}

func TestReplayOnTheWireIsTheFirstAnswerPlusTheMark(t *testing.T) {
	t.Parallel()
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{StatusCode: 201, Headers: map[string]string{"X-B": "<&>", "X-A": "1"}, Body: "<&>"}, nil
	}, memory.New(), idempotent.WithClock(func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }))
	first, replay := onWire(t, h, ask{key: "k"}.v2()), onWire(t, h, ask{key: "k"}.v2())
	assert.Equal(t,
		`{"statusCode":201,"headers":{"Idempotency-Key-Expires":"Sat, 03 Jan 2026 03:04:05 GMT","X-A":"1","X-B":"<&>"},`+
			`"multiValueHeaders":null,"body":"<&>","cookies":null}`, string(first))
	assert.Equal(t, strings.Replace(string(first), `"X-A"`, `"Idempotent-Replayed":"true","X-A"`, 1), string(replay))
}

func TestStatusDecidesWhetherAResponseIsStored(t *testing.T) {
	notStored := []int{401, 403, 408, 409, 423, 425, 429}
	everyDoor(t, func(t *testing.T, d door) {
		for _, status := range statuses(d) {
			a := d.open(t)
			a.answers(reply{Status: status, Body: "b"})
			a.gets(ask{key: "k"}, strconv.Itoa(status))
			stored := status >= 200 && status < 500 && !slices.Contains(notStored, status)
			_, found := a.record()
			assert.Equal(t, stored, found, "status %d", status)
			r := a.send(ask{key: "k"})
			assert.Equal(t, status, r.Status)
			assert.Equal(t, stored, r.replayed(), "status %d", status)
		}
	})
}

// statuses are all that a response can have, through the first door, and through the others those
// beside which the rule changes.
func statuses(d door) (some []int) {
	for status := range 620 {
		if d.name == doors()[0].name || status%100 < 2 || status%100 == 99 || status/50 == 8 {
			some = append(some, status)
		}
	}
	return some
}

func TestNilResponseIsPassedOnAndNotStored(t *testing.T) {
	t.Parallel()
	for _, wire := range []bool{false, true} {
		executed := 0
		handler := func(context.Context, *requestV2) (*responseV2, error) {
			executed++
			return nil, nil
		}
		event := ask{key: "k"}.v2()
		h := idempotent.Wrap(handler, memory.New())
		for range 2 {
			out, err := deliver(t.Context(), h, &event, wire)
			require.NoError(t, err)
			assert.Nil(t, out)
		}
		assert.Equal(t, 2, executed)

		stored := idempotent.Wrap(handler, memory.New(), idempotent.WithStoreIf(func(*responseV2) bool { return true }))
		for range 2 {
			out, err := deliver(t.Context(), stored, &event, wire)
			require.NoError(t, err)
			assert.Nil(t, out, "a stored nil is replayed as nil")
		}
		assert.Equal(t, 3, executed)
	}
}

// The first answer is the handler's own, with its cookies and the headers of its connection. They
// are not stored. No map of the handler is modified, and no two answers share one.
func TestCookiesAreStoredOnlyIfAsked(t *testing.T) {
	everyWideDoor(t, func(t *testing.T, d door) {
		response := func() reply {
			return reply{
				Status:  200,
				Headers: map[string]string{"Set-Cookie": "a=1", "set-cookie": "b=2", "Date": "now", "X-Kept": "1"},
				Multi:   map[string][]string{"SET-COOKIE": {"c=3", "d=4"}, "X-Kept": {"2"}},
				Cookies: []string{"e=5"},
			}
		}
		first, shared := response(), response()
		if d.v1 {
			first.Cookies = nil
		}
		a := d.open(t)
		a.answers(shared)
		assert.Equal(t, first, a.send(ask{key: "k"}).unmarked())
		record, _ := a.record()
		assert.NotContains(t, strings.ToLower(string(record.Result)), "set-cookie")
		assert.NotContains(t, string(record.Result), "e=5")
		for range 2 {
			replay := a.send(ask{key: "k"})
			assert.Equal(t, reply{
				Status: 200, Headers: map[string]string{"X-Kept": "1"}, Multi: map[string][]string{"X-Kept": {"2"}},
			}, replay.unmarked())
			replay.Headers["X-Kept"], replay.Multi["X-Kept"][0] = "changed", "changed"
		}
		assert.Equal(t, first, a.send(ask{key: "l"}).unmarked(), "a handler may return one map every time")
		assert.Equal(t, response(), shared)
	})
}

func TestFirstAnswerAndReplaysSayUntilWhenTheyAreReplayed(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.FixedZone("", 3600))
		const name = "Idempotency-Key-Expires"
		a := d.open(t, idempotent.WithRetention(90*time.Minute), idempotent.WithClock(func() time.Time { return now }))
		first := a.send(ask{key: "k"})
		record, _ := a.record()
		for _, r := range []reply{first, a.send(ask{key: "k"})} {
			assert.Equal(t, "Fri, 02 Jan 2026 03:34:06 GMT", r.Headers[name])
			expires, err := http.ParseTime(r.Headers[name])
			require.NoError(t, err)
			assert.True(t, expires.Equal(record.Expiry), "the client is told what the record says")
		}
		assert.Len(t, first.Headers, 1)
	})
}

// A handler may pass on the response of a service that does the same: its marks say nothing about
// this answer.
func TestMarksOfAnotherServiceGiveWay(t *testing.T) {
	everyWideDoor(t, func(t *testing.T, d door) {
		const name = "Idempotency-Key-Expires"
		a := d.open(t)
		a.answers(reply{
			Status:  200,
			Headers: map[string]string{"idempotent-replayed": "true", strings.ToUpper(name): "never", "X": "1"},
			Multi:   map[string][]string{"IDEMPOTENT-REPLAYED": {"true"}, strings.ToLower(name): {"never"}, "Y": {"2"}},
		})
		first := a.send(ask{key: "k"})
		assert.Equal(t, map[string]string{"X": "1", name: first.Headers[name]}, first.Headers)
		assert.Regexp(t, `GMT$`, first.Headers[name])
		assert.Equal(t, map[string][]string{"Y": {"2"}}, first.Multi)
		record, _ := a.record()
		assert.NotContains(t, string(record.Result), "never")
		assert.NotContains(t, strings.ToLower(string(record.Result)), "replayed")
		r := a.send(ask{key: "k"})
		assert.Equal(t, map[string]string{"X": "1", name: first.Headers[name], "Idempotent-Replayed": "true"},
			r.Headers)
		assert.Equal(t, first.Multi, r.Multi)
	})
}

// As above, but nothing was stored: what another service says of its answer is not true of this
// one.
func TestMarksOfAnotherServiceAreTakenFromAnswersThatAreNotStored(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		foreign := func(status int) reply {
			headers := map[string]string{"idempotent-replayed": "true", "Idempotency-Key-Expires": "never", "X": "1"}
			return reply{Status: status, Headers: headers, Body: "b"}
		}
		for name, c := range map[string]struct {
			status  int
			prepare func(a *api, r reply)
		}{
			"released":              {409, (*api).answers},
			"failed":                {503, (*api).answers},
			"the completion failed": {201, (*api).failsToComplete},
			"beside a mark":         {502, func(a *api, r reply) { a.returns(r, idempotent.Uncertain(errDownstream)) }},
			"someone else stored what cannot be read": {201, func(a *api, r reply) {
				a.takenOver(r, func(r *store.Record) { completed(r, `["no response"]`) })
			}},
		} {
			a := d.open(t)
			c.prepare(a, foreign(c.status))
			stripped := reply{Status: c.status, Headers: map[string]string{"X": "1"}, Body: "b"}
			assert.Equal(t, stripped, a.send(ask{key: "k"}), name)
		}
	})
}

// An answer that is not the handler's own any more is encoded again; one that is stays as it was
// encoded.
func TestAnswerThatIsNotStoredIsThatOfTheHandlerOnTheWire(t *testing.T) {
	t.Parallel()
	response := &responseV2{
		StatusCode: 503, Headers: map[string]string{}, MultiValueHeaders: map[string][]string{},
		Cookies: []string{},
	}
	handler := func(context.Context, requestV2) (*responseV2, error) { return response, nil }
	want := onWire(t, lambda.NewHandler(handler), ask{key: "k"}.v2())
	got := onWire(t, idempotent.Wrap(handler, memory.New()), ask{key: "k"}.v2())
	assert.Equal(t, string(want), string(got))
	out, err := idempotent.Wrap(handler, memory.New()).Handle(t.Context(), ask{key: "k"}.v2())
	require.NoError(t, err)
	assert.Same(t, response, out)
}

func TestSwitchingMultiValueHeadersFindsTheSameRecord(t *testing.T) {
	t.Parallel()
	a := families()["alb"].open(t)
	a.answers(reply{Status: 200, Headers: map[string]string{"X": "1"}})
	a.send(ask{key: "k", query: "a=1"}.alb())
	replay := a.send(ask{key: "k", query: "a=1"}.albMulti())
	assert.Equal(t, []string{"true"}, replay.Multi["Idempotent-Replayed"])
	assert.Equal(t, []string{"1"}, replay.Multi["X"])
	a.assertExecuted(1)
}

func TestHandlerThatChangesItsEventDoesNotChangeTheFormOfTheAnswer(t *testing.T) {
	t.Parallel()
	handler := idempotent.Wrap(func(_ context.Context, e *requestALB) (responseALB, error) {
		*e = requestALB{}
		return responseALB{StatusCode: 201}, nil
	}, memory.New())
	event := ask{key: "k"}.albMulti()
	for _, replayed := range []bool{false, true} {
		out, err := handler.Handle(t.Context(), &event)
		require.NoError(t, err)
		assert.NotEmpty(t, out.MultiValueHeaders["Idempotency-Key-Expires"])
		assert.Equal(t, replayed, out.MultiValueHeaders["Idempotent-Replayed"] != nil)
		assert.Empty(t, out.Headers)
		event = ask{key: "k"}.albMulti()
	}
}

// A commit says that the result was encoded here, so it is replayed as it is. Without one, or where
// other programs write the same keys, a replay is what this handler could have returned. The member
// "later" tells them apart. unexpiringText is an answer without the header that says until when it
// is replayed.
func unexpiringText(answer []byte) string {
	return regexp.MustCompile(`"Idempotency-Key-Expires":"[^"]*",?`).ReplaceAllString(string(answer), "")
}

func TestOnlyACommittedResponseIsReplayedWithoutDecodingIt(t *testing.T) {
	t.Parallel()
	const (
		stored  = `{"statusCode":201,"headers":{"X":"1"},"multiValueHeaders":null,"body":"b","later":1,"cookies":null}`
		spliced = `{"statusCode":201,"headers":{"Idempotent-Replayed":"true","X":"1"},"multiValueHeaders":null,"body":"b","later":1,"cookies":null}`
	)
	decoded := strings.Replace(spliced, `"later":1,`, "", 1)
	path := idempotent.WithKeyPath("powertools_json(body).id")
	python := idempotent.WithPowertools(
		idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p", AllCallers: true})
	for name, c := range map[string]struct {
		commit uint8
		opts   []idempotent.Option
		want   string
	}{
		"committed":                        {committed, nil, spliced},
		"not committed":                    {uncommitted, nil, decoded},
		"committed beside AWS Powertools":  {committed, []idempotent.Option{path, python}, decoded},
		"not committed, of AWS Powertools": {uncommitted, []idempotent.Option{path, python}, decoded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := engraved{result: []byte(stored), commit: c.commit}
			h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { panic("executes") }, s,
				c.opts...)
			event := ask{key: "k", body: `{"id":1}`}.v2()
			assert.Equal(t, c.want, unexpiringText(onWire(t, h, event)))

			out, err := h.Handle(t.Context(), event)
			require.NoError(t, err)
			delete(out.Headers, "Idempotency-Key-Expires")
			assert.Equal(t, responseV2{
				StatusCode: 201, Headers: map[string]string{"Idempotent-Replayed": "true", "X": "1"}, Body: "b",
			}, out)
		})
	}
}

// What cannot be taken as it is, is decoded, and refused if that fails.
func TestCommittedResponseOfAnotherKindIsDecoded(t *testing.T) {
	t.Parallel()
	answers := func(stored string) string {
		h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { panic("executes") },
			engraved{result: []byte(stored), commit: committed})
		return unexpiringText(onWire(t, h, ask{key: "k"}.v2()))
	}
	assert.Equal(t,
		`{"statusCode":201,"headers":{"Idempotent-Replayed":"true"},"multiValueHeaders":null,"body":"b","cookies":null}`,
		answers(`{"body":"b","statusCode":201}`))
	// That of a function URL, for which an HTTP API's types find the same records: both read such a
	// text.
	assert.Equal(t,
		`{"statusCode":201,"headers":{"Idempotent-Replayed":"true"},"body":"b","isBase64Encoded":true,"cookies":["a=1"]}`,
		answers(`{"statusCode":201,"headers":null,"body":"b","isBase64Encoded":true,"cookies":["a=1"]}`))
	for _, stored := range []string{
		`{"statusCode":"201","headers":null,"multiValueHeaders":null,"body":"b","cookies":null}`, `["no response"]`, `{`,
	} {
		got := answers(stored)
		assert.Equal(t, 500, responseIn(t, []byte(got)).StatusCode)
		assert.Contains(t, got, "#unreadable")
	}
}

// The caller owns the answer: what it does to one changes neither the record nor another answer.
func TestAnswersShareNoBytesWithTheRecord(t *testing.T) {
	t.Parallel()
	var records keeping
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{StatusCode: 201, Headers: map[string]string{"X": "1"}, Body: "b"}, nil
	}, &records)
	for range 3 {
		answer := onWire(t, h, ask{key: "k"}.v2())
		assert.Equal(t, 201, responseIn(t, answer).StatusCode)
		clear(answer)
		var kept responseV2
		require.NoError(t, json.Unmarshal(records.record.Result, &kept))
		assert.Equal(t, responseV2{StatusCode: 201, Headers: map[string]string{"X": "1"}, Body: "b"}, kept)
	}
}

// keeping is a store of one record that keeps, and hands out, the very bytes that it got, as the
// client of a store may until it has sent them.
type keeping struct {
	store.Store
	record store.Record
}

func (k *keeping) Claim(_ context.Context, r store.Record, _ time.Time) (store.Record, bool, error) {
	if k.record.Key != "" {
		return k.record, false, nil
	}
	k.record = r
	return store.Record{}, true, nil
}

func (k *keeping) Swap(_ context.Context, _, next store.Record) (store.Record, bool, error) {
	k.record = next
	return store.Record{}, true, nil
}

// TestAResponseThatAnOperatorGaveIsDecoded: nobody but encoding/json vouches for the order and the
// number of its members.
func TestAResponseThatAnOperatorGaveIsDecoded(t *testing.T) {
	t.Parallel()
	records := memory.New()
	uncertain := func(context.Context, requestV2) (responseV2, error) {
		return responseV2{}, idempotent.Uncertain(errDownstream)
	}
	h := idempotent.Wrap(uncertain, records, idempotent.WithOperation("charge"))
	payload := golden(t)["v2-full"]
	_, err := h.Invoke(t.Context(), payload)
	require.Error(t, err)

	o := operate.New(records)
	key := ""
	for l, err := range o.List(t.Context(), operate.Query{Operation: "charge"}) {
		require.NoError(t, err)
		key = l.Record.Key
	}
	shown, err := o.Inspect(t.Context(), key)
	require.NoError(t, err)
	const given = `{"statusCode":201,"headers":{"a":"b"},"multiValueHeaders":null,"body":"first","body":"last","cookies":null}`
	_, err = o.Settle(t.Context(), shown, operate.Executed([]byte(given)), operate.Act{By: "dana", Why: "ticket 4711"})
	require.NoError(t, err)

	got, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(got), `"body"`), "%s", got)
	var r responseV2
	require.NoError(t, json.Unmarshal(got, &r))
	assert.Equal(t, 201, r.StatusCode)
	assert.Equal(t, "last", r.Body)
	assert.Equal(t, "true", r.Headers["idempotent-replayed"]+r.Headers["Idempotent-Replayed"])
}
