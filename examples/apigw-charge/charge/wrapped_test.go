package charge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// function is the wrapped handler in one sandbox.
type function struct {
	t       *testing.T
	handler *idempotent.Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]
}

func newFunction(t *testing.T, p *provider, s store.Store, opts ...idempotent.Option) *function {
	t.Helper()
	return &function{t, idempotent.Wrap(charge.Handler(p), s, opts...)}
}

// invoke delivers an event as Lambda does: as bytes, with a deadline.
func (f *function) invoke(e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
	defer cancel()
	payload, err := json.Marshal(e)
	require.NoError(f.t, err)
	result, err := f.handler.Invoke(ctx, payload)
	require.NoError(f.t, err)
	var out events.APIGatewayV2HTTPResponse
	require.NoError(f.t, json.Unmarshal(result, &out))
	return out
}

func replayed(out events.APIGatewayV2HTTPResponse) bool {
	return out.Headers["Idempotent-Replayed"] == "true"
}

func TestARetryGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	p := newProvider(t, nil)
	f := newFunction(t, p, memory.New())

	first := f.invoke(post("k", order))
	require.Equal(t, 201, first.StatusCode)
	require.False(t, replayed(first))

	for _, retry := range []events.APIGatewayV2HTTPRequest{post("k", order), inBase64(post("k", order)), post(`"k"`, " "+order)} {
		again := f.invoke(retry)
		require.True(t, replayed(again))
		require.Equal(t, first.StatusCode, again.StatusCode)
		require.Equal(t, first.Body, again.Body)
	}
	require.Len(t, p.requests(), 1)
}

func TestAnotherRequestWithTheKeyIsRefused(t *testing.T) {
	t.Parallel()
	p := newProvider(t, nil)
	f := newFunction(t, p, memory.New())
	f.invoke(post("k", order))

	require.Equal(t, 422, f.invoke(post("k", `{"amount":2000,"currency":"usd","source":"tok_visa"}`)).StatusCode)
	require.Len(t, p.requests(), 1)
}

func TestARequestWithoutKeyIsRefused(t *testing.T) {
	t.Parallel()
	p := newProvider(t, nil)
	require.Equal(t, 400, newFunction(t, p, memory.New()).invoke(post("", order)).StatusCode)
	require.Empty(t, p.requests())
}

func TestWhatTheClientDidWrongIsReplayed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		answer     http.HandlerFunc
		want       int
	}{
		{"an invalid body", `{"amount":-1}`, nil, 400},
		{"a declined source", order, status(402, ""), 402},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, c.answer)
			f := newFunction(t, p, memory.New())
			first, asked := f.invoke(post("k", c.body)), len(p.requests())
			require.Equal(t, c.want, first.StatusCode)

			p.answers(nil)
			again := f.invoke(post("k", c.body))
			require.Equal(t, c.want, again.StatusCode)
			require.True(t, replayed(again))
			require.Equal(t, first.Body, again.Body)
			require.Len(t, p.requests(), asked)
		})
	}
}

func TestARetryAfterAFailureOfTheProviderIsTheSameRequestToIt(t *testing.T) {
	t.Parallel()
	p := newProvider(t, status(500, ""))
	f := newFunction(t, p, memory.New())
	require.Equal(t, 502, f.invoke(post("k", order)).StatusCode)

	p.answers(nil)
	second := f.invoke(post("k", order))
	require.Equal(t, 201, second.StatusCode)
	require.False(t, replayed(second))

	requests := p.requests()
	require.Len(t, requests, 2)
	require.Equal(t, requests[0], requests[1], "key and body")
	require.True(t, replayed(f.invoke(post("k", order))))
}

func TestARequestThatMeetsARunningOneIsToldToWait(t *testing.T) {
	t.Parallel()
	charging, mayAnswer := make(chan struct{}), make(chan struct{})
	p := newProvider(t, func(w http.ResponseWriter, req *http.Request) {
		close(charging)
		<-mayAnswer
		status(200, `{"id":"ch_1","status":"succeeded"}`)(w, req)
	})
	f := newFunction(t, p, memory.New())
	first := make(chan events.APIGatewayV2HTTPResponse, 1)
	go func() { first <- f.invoke(post("k", order)) }()
	<-charging

	second := f.invoke(post("k", order))
	close(mayAnswer)

	require.Equal(t, 409, second.StatusCode)
	require.NotEmpty(t, second.Headers["Retry-After"])
	require.Equal(t, 201, (<-first).StatusCode)
	require.Len(t, p.requests(), 1)
}

func TestAfterACrashTheProviderIsAskedAgainWithTheSameKey(t *testing.T) {
	t.Parallel()
	p, records := newProvider(t, nil), memory.New()
	// This sandbox charges, and is dead to the table before it has stored the result.
	ctx, die := context.WithTimeout(t.Context(), time.Second)
	defer die()
	payload, err := json.Marshal(post("k", order))
	require.NoError(t, err)
	dying := newFunction(t, p, storetest.NewFaulty(records, storetest.OnOp(storetest.OpSwap, storetest.DieBefore)))
	result, err := dying.handler.Invoke(ctx, payload)
	require.NoError(t, err)
	var lost events.APIGatewayV2HTTPResponse
	require.NoError(t, json.Unmarshal(result, &lost))
	require.Equal(t, 201, lost.StatusCode)

	require.Equal(t, 409, newFunction(t, p, records).invoke(post("k", order)).StatusCode, "the lease lasts")
	later := newFunction(t, p, records, idempotent.WithClock(func() time.Time { return time.Now().Add(time.Minute) }))
	recovered := later.invoke(post("k", order))

	require.Equal(t, 201, recovered.StatusCode)
	require.False(t, replayed(recovered))
	require.Equal(t, lost.Body, recovered.Body, "it is the same charge")
	requests := p.requests()
	require.Len(t, requests, 2)
	require.Equal(t, requests[0], requests[1], "key and body")
}
