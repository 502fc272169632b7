package payments_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/routers/payments"
	"github.com/go-idempotent/idempotent/memory"
)

const (
	secret = "s3cret"
	order  = `{"amount":1999,"source":"tok_visa"}`
)

// function is the function on one router.
type function struct {
	t      *testing.T
	lambda lambda.Handler
	api    *payments.API
	bank   *payments.Bank
	// last is what was observed of the last delivery.
	last idempotent.Event
}

// onBoth runs a test on each router.
func onBoth(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	for name, on := range map[string]func(*payments.API) payments.Router{"ServeMux": payments.ServeMux, "chi": payments.Chi} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &function{t: t, bank: &payments.Bank{}}
			f.api = payments.New(f.bank, secret)
			observer := idempotent.WithObserver(func(_ context.Context, e idempotent.Event) { f.last = e })
			f.lambda = lambda.NewHandler(payments.Function(on(f.api), memory.New(), observer))
			test(t, f)
		})
	}
}

// event is that of a POST at an HTTP API with one route for everything.
func event(path, key, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: path, Body: body, Headers: map[string]string{"content-type": "application/json"},
	}
	e.RequestContext.APIID, e.RequestContext.Stage, e.RequestContext.RouteKey = "a1b2c3d4e5", "$default", "$default"
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = http.MethodPost, path
	if key != "" {
		e.Headers["idempotency-key"] = key
	}
	return e
}

// post delivers a request, and returns the answer.
func (f *function) post(path, key, body string) events.APIGatewayV2HTTPResponse {
	f.t.Helper()
	return f.deliver(event(path, key, body))
}

// deliver hands over an event as Lambda does: as bytes.
func (f *function) deliver(e events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse) {
	f.t.Helper()
	payload, err := json.Marshal(e)
	require.NoError(f.t, err)
	result, err := f.lambda.Invoke(f.t.Context(), payload)
	require.NoError(f.t, err)
	require.NoError(f.t, json.Unmarshal(result, &out))
	return out
}

// requireReplay checks that an answer is the first one again.
func requireReplay(t *testing.T, first, again events.APIGatewayV2HTTPResponse) {
	t.Helper()
	require.Empty(t, first.Headers["Idempotent-Replayed"])
	require.Equal(t, "true", again.Headers["Idempotent-Replayed"])
	require.Equal(t, first.StatusCode, again.StatusCode)
	require.Equal(t, first.Body, again.Body)
}
