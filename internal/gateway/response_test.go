package gateway_test

import (
	"context"
	"net/http"
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
