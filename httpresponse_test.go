package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func TestReplayEqualsTheFirstAnswerAndIsMarked(t *testing.T) {
	responses := map[string]reply{
		"plain":         {Status: 201, Headers: map[string]string{"Location": "/charges/1", "X-Empty": ""}, Body: `{"id":1}`},
		"no headers":    {Status: 204},
		"empty maps":    {Status: 200, Headers: map[string]string{}, Multi: map[string][]string{}},
		"multi only":    {Status: 200, Multi: map[string][]string{"Vary": {"Accept", "Origin"}, "X-None": {}, "X-Nil": nil}},
		"both":          {Status: 200, Headers: map[string]string{"A": "1"}, Multi: map[string][]string{"A": {"1", "2"}}},
		"base64":        {Status: 200, Body: "AAEC/w==", Base64: true},
		"odd text":      {Status: 200, Body: "<a href=\"x\">&amp;\u2028\u2029\u0000\U0001F600</a>\r\n"},
		"client error":  {Status: 422, Headers: map[string]string{"Content-Type": "application/problem+json"}, Body: "{}"},
		"redirect":      {Status: 303, Headers: map[string]string{"location": "https://example.com/?a=b&c=<d>"}},
		"large numbers": {Status: 200, Body: `{"amount":9007199254740993}`},
	}
	for name, response := range responses {
		t.Run(name, func(t *testing.T) {
			everyDoor(t, func(t *testing.T, d door) {
				a := d.open(t)
				a.answers(response)
				first := a.send(ask{key: "k"})
				assert.Equal(t, response, first, "the first answer is the handler's own")
				for range 2 {
					r := a.send(ask{key: "k"})
					assert.True(t, r.replayed())
					if first.Headers == nil {
						first.Headers = map[string]string{}
					}
					assert.Equal(t, first, r.unmarked())
				}
				a.assertExecuted(1)
				assert.Equal(t, idempotent.OutcomeReplayed, a.event().Outcome)
			})
		})
	}
}

func TestReplayOnTheWireIsTheFirstAnswerPlusTheMark(t *testing.T) {
	t.Parallel()
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{StatusCode: 201, Headers: map[string]string{"X-B": "<&>", "X-A": "1"}, Body: "<&>"}, nil
	}, memory.New())
	payload, err := json.Marshal(ask{key: "k"}.v2())
	require.NoError(t, err)
	first, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	assert.Equal(t,
		`{"statusCode":201,"headers":{"X-A":"1","X-B":"<&>"},"multiValueHeaders":null,"body":"<&>","cookies":null}`, string(first))
	replay, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	assert.Equal(t, strings.Replace(string(first), `{"X-A"`, `{"Idempotent-Replayed":"true","X-A"`, 1), string(replay))
}

func TestStatusDecidesWhetherAResponseIsStored(t *testing.T) {
	notStored := []int{401, 403, 408, 409, 423, 425, 429}
	everyDoor(t, func(t *testing.T, d door) {
		for status := range 620 {
			a := d.open(t)
			a.answers(reply{Status: status, Body: "b"})
			assert.Equal(t, status, a.send(ask{key: "k"}).Status)
			stored := status >= 200 && status < 500 && !slices.Contains(notStored, status)
			_, found := a.record()
			assert.Equal(t, stored, found, "status %d", status)
			r := a.send(ask{key: "k"})
			assert.Equal(t, status, r.Status)
			assert.Equal(t, stored, r.replayed(), "status %d", status)
		}
	})
}

func TestStoreIfReplacesTheRuleForStatuses(t *testing.T) {
	t.Parallel()
	for _, wire := range []bool{false, true} {
		executed := 0
		h := idempotent.Wrap(func(context.Context, requestV1) (*responseV1, error) {
			executed++
			return &responseV1{StatusCode: 500}, nil
		}, memory.New(), idempotent.WithStoreIf(func(r *responseV1) bool { return r.StatusCode == 500 }))
		for range 2 {
			_, err := deliver(t.Context(), h, ask{key: "k"}.v1(), wire)
			require.NoError(t, err)
		}
		assert.Equal(t, 1, executed)
	}
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

func TestCookiesAreStoredOnlyIfAsked(t *testing.T) {
	response := reply{
		Status:  200,
		Headers: map[string]string{"Set-Cookie": "a=1", "set-cookie": "b=2", "X-Kept": "1"},
		Multi:   map[string][]string{"SET-COOKIE": {"c=3", "d=4"}, "X-Kept": {"2"}},
		Cookies: []string{"e=5"},
	}
	everyDoor(t, func(t *testing.T, d door) {
		first := response
		if d.v1 {
			first.Cookies = nil
		}
		a := d.open(t)
		a.answers(response)
		assert.Equal(t, first, a.send(ask{key: "k"}), "the first answer carries its cookies")
		record, _ := a.record()
		assert.NotContains(t, strings.ToLower(string(record.Result)), "set-cookie")
		assert.NotContains(t, string(record.Result), "e=5")
		assert.Equal(t, reply{
			Status: 200, Headers: map[string]string{"X-Kept": "1"}, Multi: map[string][]string{"X-Kept": {"2"}},
		}, a.send(ask{key: "k"}).unmarked())

		a = d.open(t, idempotent.WithHTTP(idempotent.HTTP{StoreCookies: true}))
		a.answers(response)
		a.send(ask{key: "k"})
		assert.Equal(t, first, a.send(ask{key: "k"}).unmarked())
	})
}

func TestHeadersOfOneConnectionOrMomentAreNotStored(t *testing.T) {
	names := []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "Date", "Idempotent-Replayed",
	}
	everyDoor(t, func(t *testing.T, d door) {
		for _, name := range names {
			for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
				response := reply{
					Status:  200,
					Headers: map[string]string{spelling: "v", "X-" + name: "kept", "ETag": "1"},
					Multi:   map[string][]string{spelling: {"v"}, "X-" + name: {"kept"}},
				}
				a := d.open(t)
				a.answers(response)
				assert.Equal(t, response, a.send(ask{key: "k"}))
				r := a.send(ask{key: "k"})
				assert.True(t, r.replayed())
				assert.Equal(t, map[string]string{"X-" + name: "kept", "ETag": "1"}, r.unmarked().Headers, spelling)
				assert.Equal(t, map[string][]string{"X-" + name: {"kept"}}, r.Multi, spelling)
			}
		}
	})
}

func TestResponseOfTheHandlerIsNeverModified(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		shared := reply{
			Status:  200,
			Headers: map[string]string{"Set-Cookie": "a=1", "Date": "now", "X": "1"},
			Multi:   map[string][]string{"set-cookie": {"b=2"}, "Y": {"2"}},
			Cookies: []string{"c=3"},
		}
		before := reply{200, maps.Clone(shared.Headers), maps.Clone(shared.Multi), slices.Clone(shared.Cookies), "", false}
		a := d.open(t)
		a.answers(shared)
		for _, key := range []string{"k", "k", "l", "l"} {
			a.send(ask{key: key})
		}
		assert.Equal(t, before, shared)
		a.assertExecuted(2)
	})
}

func TestReplaysDoNotShareTheirMaps(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		a.answers(reply{Status: 200, Headers: map[string]string{"X": "1"}, Multi: map[string][]string{"Y": {"2"}}})
		a.send(ask{key: "k"})
		r := a.send(ask{key: "k"})
		r.Headers["X"], r.Multi["Y"][0] = "changed", "changed"
		r = a.send(ask{key: "k"})
		assert.Equal(t, "1", r.Headers["X"])
		assert.Equal(t, []string{"2"}, r.Multi["Y"])
	})
}

var errDownstream = errors.New("downstream failed")

func TestMarkBesideAResponseDecidesTheRecordAndTheClientGetsTheResponse(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		failed := reply{Status: 502, Headers: map[string]string{"X": "1"}, Body: "sorry"}

		a := d.open(t)
		a.do = func(context.Context) (reply, error) { return failed, idempotent.NotExecuted(errDownstream) }
		assert.Equal(t, failed, a.send(ask{key: "k"}))
		require.ErrorIs(t, a.event().Err, errDownstream, "the observer gets the error")
		assert.Equal(t, idempotent.SettledReleased, a.event().Settlement)
		assert.Equal(t, failed, a.send(ask{key: "k"}))
		a.assertExecuted(2)

		a = d.open(t)
		a.do = func(context.Context) (reply, error) { return failed, idempotent.Terminal(errDownstream) }
		assert.Equal(t, failed, a.send(ask{key: "k"}))
		require.ErrorIs(t, a.event().Err, errDownstream)
		r := a.send(ask{key: "k"})
		assert.True(t, r.replayed(), "whatever its status")
		assert.Equal(t, failed, r.unmarked())
		a.assertExecuted(1)

		a = d.open(t)
		a.do = func(context.Context) (reply, error) { return failed, idempotent.Uncertain(errDownstream) }
		assert.Equal(t, failed, a.send(ask{key: "k"}))
		require.ErrorIs(t, a.event().Err, errDownstream)
		record, _ := a.record()
		assert.Equal(t, idempotent.StatusUnknown, record.Status)
		assertProblem(t, a.send(ask{key: "k"}), 409, "unknown-outcome")
		a.assertExecuted(1)
	})
}

func TestMarkedErrorWithoutAResponseIsAnError(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, mark := range []func(error) error{idempotent.NotExecuted, idempotent.Terminal, idempotent.Uncertain} {
			a := d.open(t)
			a.do = func(context.Context) (reply, error) { return reply{}, mark(errDownstream) }
			_, err := a.try(ask{key: "k"})
			assert.Same(t, errDownstream, err, "the mark is stripped")
		}
	})
}

func TestPolicyForErrorsCoversResponsesThatAreNotStored(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, idempotent.WithErrorPolicy(idempotent.UnknownOnError))
		a.answers(reply{Status: 503})
		assert.Equal(t, 503, a.send(ask{key: "k"}).Status)
		assertProblem(t, a.send(ask{key: "k"}), 409, "unknown-outcome")
		a.assertExecuted(1)
	})
}

func TestResolvedResponseIsStoredWithoutCookiesAndMarked(t *testing.T) {
	t.Parallel()
	store := memory.New()
	resolver := idempotent.WithResolver(
		func(context.Context, idempotent.Execution, requestV2) (idempotent.Resolution[responseV2], error) {
			return idempotent.Executed(responseV2{StatusCode: 200, Body: "found", Cookies: []string{"a=1"}}), nil
		})
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{}, idempotent.Uncertain(errDownstream)
	}, store, resolver)
	_, err := h.Handle(t.Context(), ask{key: "k"}.v2())
	require.ErrorIs(t, err, errDownstream)
	for range 2 {
		r, err := h.Handle(t.Context(), ask{key: "k"}.v2())
		require.NoError(t, err)
		assert.Equal(t, "found", r.Body)
		assert.Empty(t, r.Cookies)
		assert.True(t, ofV2(r).replayed())
	}
}
