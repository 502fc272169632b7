package idempotent

// Profile is a set of defaults for [HTTP], and the form of its problem documents. The fields of HTTP override it one by one.
type Profile int

const (
	// ProfileIETF follows draft-ietf-httpapi-idempotency-key-header-07: 409 for a running request, 422 for a mismatch.
	// Server errors free the key.
	ProfileIETF Profile = iota
	// ProfileStripe answers as version 1 of the Stripe API does: 409 for a running request, 400 for a mismatch, and a
	// response with a status of 500 to 599 is stored and replayed, because the handler has run. To free the key all the same,
	// return the response with an error marked [NotExecuted].
	//
	// A problem document has the member error in addition, with the type, code, message and doc_url of a Stripe error
	// (RFC 9457, section 3.2, allows it), and the header Stripe-Should-Retry where the answer is known. Unlike Stripe,
	// POST and PATCH still require a key unless RequireKey or [WithOptionalKey] says otherwise, PUT and DELETE with a key are
	// protected, and 401, 403, 408, 409, 423, 425 and 429 are not stored, whoever answered them.
	ProfileStripe
)

func (p Profile) mismatchStatus() int {
	if p == ProfileStripe {
		return 400
	}
	return 422
}

// stores is the rule for statuses. Not stored is what a client may retry with success: it was not let in, it was too
// early or too fast, it met a conflict that passes, or the server failed.
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
	// shouldRetry is the header Stripe-Should-Retry (docs.stripe.com/error-low-level), empty where nothing is known. Their
	// client libraries retry every 409 without it.
	shouldRetry string
}

// stripeErrorOf is the error object of a problem. The only code that Stripe has for keys is that of a running request.
func stripeErrorOf(k problemKind, d problemDocument) *stripeError {
	e := &stripeError{Type: "api_error", Message: d.Detail, DocURL: d.Type, shouldRetry: "false"}
	switch k.outcome {
	case OutcomeMismatch:
		e.Type = "idempotency_error"
	case OutcomeInProgress:
		e.Type, e.Code, e.shouldRetry = "idempotency_error", "idempotency_key_in_use", headerTrue
	case OutcomeStoreUnavailable:
		e.shouldRetry = headerTrue
	case OutcomeRefused:
		e.shouldRetry = ""
	case OutcomeUnknown, OutcomeUnreadable:
	default:
		e.Type = "invalid_request_error"
	}
	return e
}
