package idempotent

import "github.com/go-idempotent/idempotent/report"

// Profile is a set of defaults for [HTTP], and the form of its problem documents. The fields of HTTP override it one by one.
type Profile int

const (
	// ProfileIETF follows draft-ietf-httpapi-idempotency-key-header-07: 409 for a running request, 422 for a mismatch.
	// Server errors free the key.
	ProfileIETF Profile = iota
	// ProfileStripe answers as version 1 of the Stripe API does: 409 for a running request, 400 for a mismatch. A
	// response with a status of 500 to 599 is stored and replayed, because the handler has run. To free the key after
	// such a response, return it with an error marked [NotExecuted].
	//
	// A problem document has one more member, error, with the type, code, message and doc_url of a Stripe error (RFC
	// 9457, section 3.2, allows this). Its response has the header Stripe-Should-Retry if it is known whether a retry
	// helps. Unlike Stripe, POST and PATCH still require a key unless RequireKey or [WithOptionalKey] says otherwise,
	// PUT and DELETE with a key are protected, and 401, 403, 408, 409, 423, 425 and 429 are never stored.
	ProfileStripe
)

func (p Profile) mismatchStatus() int {
	if p == ProfileStripe {
		return 400
	}
	return 422
}

// stores reports whether responses with a status are stored. Not stored is an answer after which a retry may succeed:
// the client was not let in, came too early or too often, met a conflict that passes, or the server failed.
func (p Profile) stores(status int) bool {
	switch status {
	case 401, 403, 408, 409, 423, 425, 429:
		return false
	default:
		return status < 500 || p == ProfileStripe
	}
}

// stripeError is the error object of the Stripe API (docs.stripe.com/api/errors), as far as it is about keys.
type stripeError struct {
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	DocURL  string `json:"doc_url"`
	// shouldRetry is the header Stripe-Should-Retry (docs.stripe.com/error-low-level). It is empty where nothing is
	// known. Without it the client libraries of Stripe retry every 409.
	shouldRetry string
}

// retryYes is the header where a retry can help.
const retryYes = "true"

// stripeErrorOf returns the error object of a problem. The only code that Stripe has for keys is that of a running
// request.
func stripeErrorOf(outcome report.Outcome, message, docURL string) *stripeError {
	e := &stripeError{Type: "api_error", Message: message, DocURL: docURL, shouldRetry: "false"}
	switch outcome {
	case report.Mismatch:
		e.Type = "idempotency_error"
	case report.InProgress, report.Superseded:
		e.Type, e.Code, e.shouldRetry = "idempotency_error", "idempotency_key_in_use", retryYes
	case report.StoreUnavailable, report.CommitFailed:
		e.shouldRetry = retryYes
	case report.Refused, report.WrappedTwice:
		e.shouldRetry = ""
	case report.UnknownOutcome, report.Unreadable:
	default:
		e.Type = "invalid_request_error"
	}
	return e
}
