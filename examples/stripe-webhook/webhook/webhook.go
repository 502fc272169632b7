// Package webhook settles the records of charges by the events that Stripe sends about them.
//
// An event finds its record by the metadata of its charge, see [charge.Metadata], or by the idempotency key of the request that has caused it. What it
// says settles a record of which nobody knows, as a person would who has looked into the dashboard of the provider.
//
// Events come more than once, late, and in any order. So each one is answered by what the record is now:
//
//	200  the record is settled by this event, or was completed before; or the event is none of ours; or it contradicts the record
//	409  the execution still runs, or may: Stripe sends the event again, for up to three days
//	503  the table does not answer: likewise
//	400  the body is not signed, or no event
//
// # Contradictions
//
// An event may say that a charge has succeeded whose record is completed with something else: with a refusal, or with another charge. A client was
// told that nothing was charged then, or has paid twice. The record stays as it is, for its client may have acted on the answer. The event is
// acknowledged and logged as an error, for a person. It comes to this if one request has several charges, as a PaymentIntent may: the first one fails and
// settles the record, and a later one succeeds. So take events of type charge.succeeded alone with PaymentIntents.
//
// A charge that is only authorised settles nothing.
//
// # Whom it believes
//
// The signature says that Stripe has sent the event. It does not say whose charge it is: whoever makes charges in a connected account can
// write any record key into their metadata. So the account and the mode of an event have to be those that are configured, and the check in the
// metadata has to be that of the record, of this amount, and of this currency. By the idempotency key of a request, Stripe itself binds the amount:
// it refuses a key that comes with another one.
//
// It cannot know what the record does not say. Somebody who can make charges in the configured account, and who knows the whole request that a
// record stands for, can compute its check.
package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/signature"
	"github.com/go-idempotent/idempotent/operate"
)

// Endpoint is the handler of the events. It is safe for concurrent use.
type Endpoint struct {
	// Operator has the records, Operation names the function that has made them.
	Operator  *operate.Operator
	Operation string
	// Secrets are the signing secrets of the endpoint, as a rule one.
	Secrets []string
	// Account is the connected account whose charges the function makes, empty if they are in one's own account. Live is true if they are
	// no tests.
	Account string
	Live    bool
	// Now is the clock.
	Now func() time.Time
}

// early is for how long an event whose record is not found is sent again: the execution may not have ended, and only a record that somebody
// has to settle is found by the key of a request. It is longer than an execution of the function takes, lease included.
const early = 5 * time.Minute

// Handle implements the handler of an HTTP API, or of a function URL.
func (e *Endpoint) Handle(ctx context.Context, r httpapi.Request) (httpapi.Response, error) {
	if r.RequestContext.HTTP.Method != http.MethodPost {
		return httpapi.Problem(http.StatusMethodNotAllowed, "Events are posted.")
	}
	body, err := bodyOf(r.Body, r.IsBase64Encoded)
	if err == nil {
		err = signature.Verify(headerOf(r, "stripe-signature"), body, e.Secrets, e.Now())
	}
	if err != nil { // the log says no more: nothing of the request is known to be true
		slog.WarnContext(ctx, "event", "outcome", notSigned)
		return httpapi.Problem(http.StatusBadRequest, "The body is not signed.")
	}
	event, charge, known, err := read(body)
	switch {
	case err != nil:
		slog.WarnContext(ctx, "event", "event", event.ID, "type", event.Type, "error", err)
		return httpapi.Problem(http.StatusBadRequest, "The body is not an event that can be read.")
	case !known:
		return e.answer(ctx, event, outcome{Ignored, "its type means nothing here"})
	}
	o, err := e.settle(ctx, event, charge)
	if err != nil {
		slog.ErrorContext(ctx, "event", "event", event.ID, "type", event.Type, "error", err)
		return httpapi.Problem(http.StatusServiceUnavailable, "The event could not be handled. Send it again.")
	}
	return e.answer(ctx, event, o)
}

// The outcomes of an event.
const (
	// Settled: it has settled a record.
	Settled = "settled"
	// Done: there is nothing to settle any more.
	Done = "done"
	// Ignored: it is none of ours.
	Ignored = "ignored"
	// Refused: it names a record that is not its own.
	Refused = "refused"
	// Contradicted: its charge has succeeded, but the record is completed with something else.
	Contradicted = "contradicted"
	// Later: the record cannot be settled yet.
	Later = "later"
)

// notSigned is said in the log of what is no event.
const notSigned = "not signed"

// outcome is what became of an event.
type outcome struct{ kind, why string }

func (e *Endpoint) answer(ctx context.Context, ev event, o outcome) (httpapi.Response, error) {
	status, level := http.StatusOK, slog.LevelInfo
	switch o.kind {
	case Later:
		status = http.StatusConflict
	case Refused, Contradicted: // sent again it would be no better
		level = slog.LevelError
	}
	slog.Log(ctx, level, "event", "event", ev.ID, "type", ev.Type, "outcome", o.kind, "why", o.why)
	return httpapi.Answer(status, struct {
		Outcome string `json:"outcome"`
	}{o.kind})
}

// bodyOf is the body as it came: another spelling of the same JSON has another signature.
func bodyOf(text string, isBase64 bool) ([]byte, error) {
	if !isBase64 {
		return []byte(text), nil
	}
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the body is not base64")
	}
	return body, nil
}

func headerOf(r httpapi.Request, name string) string {
	for n, value := range r.Headers {
		if strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}
