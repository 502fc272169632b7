package payments

import (
	"context"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

// unprotected are the routes that run without a key.
var unprotected = map[string]bool{routeSearch: true, routeWebhooks: true}

// Function makes a Lambda function of a router, behind an HTTP API or a function URL: lambda.Start takes what it returns. All routes share
// the records, and each key counts for one route.
func Function(r Router, records store.Store, opts ...idempotent.Option) func(context.Context, request) (response, error) {
	handler := httpadapter.NewV2(Answered(r)).ProxyWithContext // Proxy would lose the context
	rules := idempotent.HTTP{
		// A path that no route takes is protected: what nobody has thought of is not exempt.
		Protect: func(method, path string) bool { return !unprotected[r.Route(method, path)] },
		Route:   r.Route,
	}
	stripes := rules
	stripes.Profile = idempotent.ProfileStripe
	of := func(h idempotent.HTTP) *idempotent.Handler[request, response] {
		return idempotent.Wrap(handler, records, append([]idempotent.Option{idempotent.WithHTTP(h)}, opts...)...)
	}
	ours, theirs := of(rules), of(stripes)
	return func(ctx context.Context, event request) (response, error) {
		// Both protect, and both call the same router. What is chosen here is how an answer is worded and which statuses are stored.
		if strings.HasPrefix(event.RawPath, "/v1/") {
			return theirs.Handle(ctx, event)
		}
		return ours.Handle(ctx, event)
	}
}

// Answered answers 200 where a handler writes nothing, as a server does. The adapter takes that for a failure: the key would be free, and
// each retry would execute again. It is for the adapter only, which sends the last status that was written.
func Answered(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		h.ServeHTTP(w, r)
	})
}
