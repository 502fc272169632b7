// Package charge is the handler of POST /charges: it charges a payment source at a provider. Everything around it, keys,
// replays, conflicts and crashes, is the business of idempotent.Wrap.
package charge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// Route is the one that the handler serves.
const Route = http.MethodPost + " " + path

const path = "/charges"

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

// Effects says that repeating a charge does no harm: the provider takes the derived key, and knows a charge that it has made. So
// the key of a request whose answer could not be stored heals by itself.
func Effects() idempotent.Option { return idempotent.WithEffects(idempotent.Repeatable) }

// Handler returns the handler. What becomes of its answers when the client sends the same key again:
//
//	201  charged                              replayed
//	400  the body is invalid                  replayed: a corrected request is another one and needs a new key
//	402  the provider declined the source     replayed, likewise
//	404, 405  another path or method          replayed, if the request carried a key
//	502  the provider failed or did not       not stored: the handler runs again, with the same derived key
//	     answer in time, or misunderstood us
func Handler(p payments.Provider) func(context.Context, request) (response, error) {
	return func(ctx context.Context, event request) (response, error) {
		if status := routed(event); status != http.StatusOK {
			return problem(status, "The only operation is "+Route+".")
		}
		r, err := parse(event)
		if err != nil {
			return problem(http.StatusBadRequest, "The request is invalid: "+err.Error()+".")
		}

		// The provider gets a key of its own, never the client's. It is the same for every attempt of this request, so if
		// an earlier one charged and died before its result was stored, the provider answers with that charge.
		charge, err := p.Charge(ctx, idempotent.DerivedKey(ctx, "charge"), r)
		switch {
		case errors.Is(err, payments.ErrDeclined):
			return problem(http.StatusPaymentRequired, "The payment source was declined.")
		case err != nil:
			// The cause is for the log. The client learns that it may retry.
			slog.ErrorContext(ctx, "charge failed", "error", err)
			return problem(http.StatusBadGateway, "The payment provider failed. Retry with the same idempotency key.")
		}
		return charged(charge, r)
	}
}

// routed tells the status of a request by its route.
func routed(event request) int {
	switch {
	case event.RouteKey == Route: // the gateway has matched it, whatever its stage puts in front of the path
		return http.StatusOK
	case event.RawPath != path:
		return http.StatusNotFound
	case event.RequestContext.HTTP.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	default:
		return http.StatusOK
	}
}
