package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// FuzzEventV1 and FuzzEventV2: whatever arrives as the event of an HTTP API, nothing panics; a
// protected handler runs once, and its response comes back; what is refused is refused by an answer
// that API Gateway takes, and the handler does not run.
func FuzzEventV1(f *testing.F) { fuzzEvents[requestV1, responseV1](f) }

func FuzzEventV2(f *testing.F) { fuzzEvents[requestV2, responseV2](f) }

// invoker is a wrapped handler on the wire.
type invoker interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// onWire is the answer to an event in its wire form.
func onWire(t require.TestingT, h invoker, event any) []byte {
	payload, err := json.Marshal(event)
	require.NoError(t, err)
	answer, err := h.Invoke(context.Background(), payload)
	require.NoError(t, err)
	return answer
}

func fuzzEvents[In, Out any](f *testing.F) {
	f.Helper()
	for _, payload := range golden(f) {
		f.Add(payload)
	}
	for _, e := range []any{
		ask{key: "k", body: `{"a":1}`}.v1(), ask{key: "k", body: `{"a":1}`}.v2(), ask{}.v2(),
		ask{method: "GET"}.v1(),
	} {
		payload, err := json.Marshal(e)
		require.NoError(f, err)
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		runs, protected := 0, false
		h := idempotent.Wrap(func(ctx context.Context, _ In) (Out, error) {
			runs++
			_, protected = idempotent.FromContext(ctx)
			return respond[Out](reply{Status: 201, Body: "created"}), nil
		}, memory.New())
		first, firstErr := h.Invoke(t.Context(), payload)
		ran := runs
		require.LessOrEqual(t, ran, 1)
		second, secondErr := h.Invoke(t.Context(), payload)
		if firstErr != nil {
			require.Zero(t, runs, "no event is an error, and no execution")
			require.Error(t, secondErr)
			return
		}
		require.NoError(t, secondErr)
		one, two := responseIn(t, first), responseIn(t, second)
		require.Equal(t, one.StatusCode, two.StatusCode)
		require.Equal(t, one.Body == "created", ran == 1, "the handler's response means that it ran")
		switch {
		case protected:
			require.Equal(t, 1, runs, "executions of a protected request")
			require.Equal(t, one.Body, two.Body)
		case ran == 1:
			require.Equal(t, 2, runs, "executions of a request that needs no protection")
		default:
			require.Zero(t, runs)
			require.GreaterOrEqual(t, one.StatusCode, 400)
			require.True(t, json.Valid([]byte(one.Body)), "a problem document")
		}
	})
}

type anyResponse struct {
	StatusCode int
	Body       string
}

func responseIn(t *testing.T, answer []byte) (r anyResponse) {
	t.Helper()
	require.NoError(t, json.Unmarshal(answer, &r))
	require.True(t, r.StatusCode >= 200 && r.StatusCode <= 599, "status %d", r.StatusCode)
	return r
}

// FuzzStoredResult: whatever a completed record holds as its result, a delivery gets that or a
// clear error, and the handler does not run. Without a commit it is a record of AWS Powertools, for
// which nothing vouches.
func FuzzStoredResult(f *testing.F) {
	for _, result := range []string{
		`{"charge":1,"amount":5}`, `{"statusCode":201,"body":"x"}`, `null`, `{`, ``, `"x"`,
		`{"errorType":"E"}`,
	} {
		for _, c := range []uint8{uncommitted, committed, miscommitted} {
			f.Add([]byte(result), "", c)
			f.Add([]byte(result), "terminal", c)
		}
	}
	event, err := json.Marshal(ask{key: "k"}.v2())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, result []byte, reason string, commit uint8) {
		s := engraved{result: result, reason: reason, commit: commit % 3}
		plain := idempotent.Wrap(func(context.Context, order) (receipt, error) { panic("executes") },
			s, idempotent.WithOperation("shop"),
			idempotent.WithKeyPath("id"))
		answer, err := plain.Invoke(t.Context(), []byte(`{"id":"o-1"}`))
		var terminal messages.InvokeResponse_Error
		switch {
		case errors.Is(err, idempotent.ErrUnreadable):
			require.False(t, s.commit == committed && reason != "terminal", "what was committed is replayed")
		case errors.As(err, &terminal):
			require.Equal(t, "terminal", reason)
			require.NotEqual(t, uint8(miscommitted), s.commit)
		default:
			require.NoError(t, err)
			require.Equal(t, string(result), string(answer))
			require.True(t, s.commit == committed || s.commit == uncommitted && json.Valid(result))
		}

		http := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { panic("executes") }, s)
		answer, err = http.Invoke(t.Context(), event)
		if !errors.As(err, &terminal) {
			require.NoError(t, err)
			require.True(t, json.Valid(answer) || s.commit == committed && !json.Valid(result),
				"what was committed is replayed")
		}
	})
}

// engraved is a store in which every key has a completed record with the same result.
type engraved struct {
	store.Store
	result []byte
	reason string
	commit uint8
}

// What the commit of an engraved record says.
const (
	uncommitted  = iota // nothing
	committed           // that this is the result
	miscommitted        // that another one is
)

func (e engraved) Claim(_ context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	r.Status, r.Owner, r.Expiry = store.StatusCompleted, "someone", now.Add(time.Hour)
	r.Result, r.Reason = e.result, e.reason
	switch e.commit {
	case committed:
		r.Seal = store.Seal(r.Owner, r.Result)
	case miscommitted:
		r.Seal = store.Seal(r.Owner, append([]byte("another "), r.Result...))
	}
	return r, false, nil
}
