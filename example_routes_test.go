package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// slowProvider charges a card, and does not answer in time.
type slowProvider struct{}

func (slowProvider) Charge(context.Context, string) (string, error) { return "", errors.New("timeout") }

// An http.Handler writes a response and returns nothing: it says with Mark what it would have said with an error. What passes requests on
// to it passes on the context, too.
func ExampleMark() {
	var provider slowProvider
	charge := func(w http.ResponseWriter, r *http.Request) {
		receipt, err := provider.Charge(r.Context(), idempotent.DerivedKey(r.Context(), "charge"))
		if err != nil {
			idempotent.Mark(r.Context(), idempotent.Uncertain(err)) // the charge may have happened
			http.Error(w, "try again later", http.StatusBadGateway)
			return
		}
		fmt.Fprintf(w, "charged: %s", receipt)
	}

	handler := idempotent.Wrap(func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, e.RawPath, strings.NewReader(e.Body))
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		w := httptest.NewRecorder()
		charge(w, r)
		return events.APIGatewayV2HTTPResponse{StatusCode: w.Code, Body: w.Body.String()}, nil
	}, memory.New())

	for range 2 {
		event := events.APIGatewayV2HTTPRequest{RouteKey: "$default", RawPath: "/charges", Headers: map[string]string{"idempotency-key": "k-1"}}
		event.RequestContext.HTTP.Method = http.MethodPost
		response, err := handler.Handle(context.Background(), event)
		fmt.Println(response.StatusCode, err)
	}
	// Output:
	// 502 <nil>
	// 409 <nil>
}

// Requests that need no protection run each time, whatever key they carry.
func ExampleHTTP_protect() {
	routes := idempotent.WithHTTP(idempotent.HTTP{
		Protect: func(_, path string) bool { return path != "/search" && !strings.HasPrefix(path, "/webhooks/") },
	})

	runs := 0
	handler := idempotent.Wrap(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		runs++
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: fmt.Sprintf("run %d", runs)}, nil
	}, memory.New(), routes)

	for _, path := range []string{"/charges", "/charges", "/webhooks/cards", "/webhooks/cards", "/webhooks/../charges"} {
		event := events.APIGatewayV2HTTPRequest{RouteKey: "$default", RawPath: path, Headers: map[string]string{"idempotency-key": "k-1"}}
		event.RequestContext.HTTP.Method = http.MethodPost
		response, err := handler.Handle(context.Background(), event)
		protected := response.Headers["Idempotency-Key-Expires"] != ""
		fmt.Println(path, response.Body, protected, err)
	}
	// Output:
	// /charges run 1 true <nil>
	// /charges run 1 true <nil>
	// /webhooks/cards run 2 false <nil>
	// /webhooks/cards run 3 false <nil>
	// /webhooks/../charges run 4 true <nil>
}
