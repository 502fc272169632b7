// Package charge is the handler of POST /charges: it charges a payment source at a provider. Everything around it, keys,
// replays, conflicts and crashes, is the business of idempotent.Wrap.
package charge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// Route is the one that the handler serves.
const Route = "POST /charges"

// KeyName is the name of the derived key that the provider gets.
const KeyName = "charge"

// Effects says that repeating a charge does no harm: the provider takes the derived key, and knows a charge that it has made. So
// the key of a request whose answer could not be stored heals by itself.
func Effects() idempotent.Option { return idempotent.WithEffects(idempotent.Repeatable) }

// EffectsNamed says what may be repeated: "repeatable", which is also the empty name, is [Effects]. "unrepeatable" is for a provider that
// forgets its keys before the clients forget theirs: a charge of which nobody knows becomes UNKNOWN, until a [Resolver] has asked.
func EffectsNamed(name string) (idempotent.Option, error) {
	switch name {
	case "", "repeatable":
		return Effects(), nil
	case "unrepeatable":
		return idempotent.WithEffects(idempotent.Unrepeatable), nil
	default:
		return nil, fmt.Errorf("%q is neither repeatable nor unrepeatable", name)
	}
}

// Handler returns the handler. What becomes of its answers when the client sends the same key again:
//
//	201  charged                              replayed
//	400  the body is invalid                  replayed: a corrected request is another one and needs a new key
//	402  the provider declined the source     replayed, likewise
//	404, 405  another path or method          replayed, if the request carried a key
//	502  the provider failed or did not       not stored: the handler runs again, with the same derived key
//	     answer in time, or misunderstood us  ("unrepeatable": not either, the record becomes UNKNOWN)
func Handler(p payments.Provider) httpapi.Handler {
	return httpapi.Only(Route, func(ctx context.Context, event httpapi.Request) (httpapi.Response, error) {
		r, err := parse(event)
		if err != nil {
			return httpapi.Problem(http.StatusBadRequest, "The request is invalid: "+err.Error()+".")
		}

		// The provider gets a key of its own, never the client's. It is the same for every attempt of this request, so if
		// an earlier one charged and died before its result was stored, the provider answers with that charge. The metadata
		// name the record, so that an event of the charge finds it, and are the same for every attempt, too.
		asked := r
		asked.Metadata = marked(r.Metadata, Metadata(ctx, r.Amount, r.Currency))
		charge, err := p.Charge(ctx, idempotent.DerivedKey(ctx, KeyName), asked)
		switch {
		case errors.Is(err, payments.ErrDeclined):
			return declined()
		case err != nil:
			// The cause is for the log. The client learns that it may retry.
			slog.ErrorContext(ctx, "charge failed", "error", err)
			return httpapi.Problem(http.StatusBadGateway, "The payment provider failed. Retry with the same idempotency key.")
		}
		return charged(charge, r)
	})
}
