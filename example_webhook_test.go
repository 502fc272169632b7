package idempotent_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// adapt lets an http.Handler answer the events of an HTTP API. The request carries the context, so
// that the handler reaches the derived keys.
func adapt(h http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, e.RawPath, strings.NewReader(e.Body))
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		for name, value := range e.Headers {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		out := events.APIGatewayV2HTTPResponse{StatusCode: w.Code, Headers: map[string]string{}, Body: w.Body.String()}
		for name := range w.Header() {
			out.Headers[name] = w.Header().Get(name)
		}
		return out, nil
	}
}

// One function serves many routes with the router of net/http. One key on two routes is two keys.
func Example_netHTTPRouter() {
	mux := http.NewServeMux()
	for _, route := range []string{"POST /charges", "POST /refunds"} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Println("executing", route, string(body), len(idempotent.DerivedKey(r.Context(), "charge")) > 0)
			w.WriteHeader(http.StatusCreated)
		})
	}
	handler := idempotent.Wrap(adapt(mux), memory.New())

	for _, path := range []string{"/charges", "/charges", "/refunds"} {
		event := events.APIGatewayV2HTTPRequest{
			RouteKey: "$default", RawPath: path, Headers: map[string]string{"idempotency-key": "k-1"}, Body: `{"amount":1999}`,
		}
		event.RequestContext.HTTP.Method = http.MethodPost
		out, err := handler.Handle(context.Background(), event)
		fmt.Println(path, out.StatusCode, out.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// executing POST /charges {"amount":1999} true
	// /charges 201  <nil>
	// /charges 201 true <nil>
	// executing POST /refunds {"amount":1999} true
	// /refunds 201  <nil>
}

// Stripe sends an event again until it is acknowledged, for up to three days. Its id is the key: so
// each event is handled once, whatever else in the delivery differs. Check the signature of the
// body before this handler.
func Example_stripeWebhook() {
	type event struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	handler := idempotent.Wrap(func(_ context.Context, e event) (string, error) {
		fmt.Println("handling", e.Type)
		return "handled", nil
	}, memory.New(),
		idempotent.WithOperation("stripe-events"),
		idempotent.WithKey(func(e event) (string, error) { return e.ID, nil }))

	for _, body := range []string{
		`{"id":"evt_1","type":"charge.succeeded"}`,
		`{"id":"evt_1","type":"charge.succeeded"}`,
		`{"id":"evt_2","type":"charge.refunded"}`,
	} {
		out, err := handler.Invoke(context.Background(), []byte(body))
		fmt.Println(string(out), err)
	}
	// Output:
	// handling charge.succeeded
	// "handled" <nil>
	// "handled" <nil>
	// handling charge.refunded
	// "handled" <nil>
}
