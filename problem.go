package idempotent

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// problemBase is the default of [HTTP.ProblemBase]: each type resolves to the page that explains it.
const problemBase = "https://github.com/go-idempotent/idempotent/blob/main/docs/problems.md#"

const mediaJSON = "application/json"

// outageRetryAfter is when a client may try again after an outage of the store.
const outageRetryAfter = 2 * time.Second

const freshKey = "Send a new one with each new request, and the same one with each retry."

// problemKind is one row of the answers to misuse and failure.
type problemKind struct {
	outcome Outcome
	is      error
	status  int
	name    string
	title   string
	detail  string
}

// problemKinds is the one place that knows which error is answered how.
var problemKinds = []problemKind{
	{
		OutcomeMissingKey, ErrMissingKey, 400, "missing-key", "Idempotency key is missing",
		"This operation requires an idempotency key. " + freshKey,
	},
	{
		OutcomeInvalidKey, ErrInvalidKey, 400, "invalid-key", "Idempotency key is invalid",
		"The idempotency key cannot be used for this request.",
	},
	{
		OutcomeStale, ErrStaleRequest, 400, "stale-request", "The timestamp of the request is not accepted",
		"The timestamp of the request is missing, malformed or too old.",
	},
	{
		OutcomeMissingTenant, ErrMissingTenant, 401, "missing-tenant", "The caller is not identified",
		"This operation keeps the idempotency keys of its callers apart. Nothing in this request identifies the caller.",
	},
	{
		OutcomeMismatch, ErrMismatch, 422, "mismatch", "Idempotency key was used for another request",
		"This idempotency key belongs to a request with other content. Send a new key with a new request.",
	},
	{
		OutcomeInProgress, ErrInProgress, 409, "in-progress", "A request with this idempotency key is in progress",
		"The first request with this idempotency key has not been answered yet. Retry after the time given.",
	},
	{
		OutcomeUnknown, ErrUnknownOutcome, 409, "unknown-outcome", "The outcome of the request is unknown",
		"An earlier request with this idempotency key may have taken effect. It is not repeated until its outcome is settled.",
	},
	{
		OutcomeUnreadable, ErrUnreadable, 500, "unreadable-record", "The stored answer cannot be read",
		"The record of this idempotency key cannot be read. The request was not executed.",
	},
	{
		OutcomeStoreUnavailable, ErrStoreUnavailable, 503, "store-unavailable", "The request cannot be protected right now",
		"The request was not executed. Retry it with the same idempotency key.",
	},
	{
		OutcomeRefused, ErrRefused, 500, "refused", "The request cannot be judged",
		"The request was not executed.",
	},
}

// kindOf finds the row of an error. Only the error itself is asked, not what it wraps: a user's function may have failed
// with the error of another handler.
func kindOf(err error) (problemKind, bool) {
	if own, ok := err.(interface{ Is(target error) bool }); ok {
		for _, k := range problemKinds {
			if own.Is(k.is) {
				return k, true
			}
		}
	}
	return problemKind{}, false
}

// outcomeOf is what the observer sees of an error.
func outcomeOf(err error) Outcome {
	if k, ok := kindOf(err); ok {
		return k.outcome
	}
	return OutcomeRefused
}

// problemDocument is RFC 9457, section 3. Its members are always in this order.
type problemDocument struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance,omitempty"`
	// Error is for clients of [ProfileStripe].
	Error *stripeError `json:"error,omitempty"`
}

// problem answers an error of this package. The document holds nothing of the request but its path and id, and nothing
// of the record.
func (s *httpShape[In, Out]) problem(src *source[In], err error) (Out, bool) {
	var none Out
	k, ok := kindOf(err)
	if !ok {
		return none, false
	}
	r := &src.http
	k.status = s.http.statusOf(k)
	document := problemDocument{
		Type: s.http.ProblemBase + k.name, Title: k.title, Status: k.status, Detail: detail(k, err),
		Instance: instance(r),
	}
	headers := s.http.problemHeaders(err)
	if k.status < 400 {
		headers["Content-Type"] = mediaJSON // the request was accepted: no problem
	} else if s.http.Profile == ProfileStripe {
		document.Error = stripeErrorOf(k, document)
		if retry := document.Error.shouldRetry; retry != "" {
			headers["Stripe-Should-Retry"] = retry
		}
	}
	body, encodeErr := json.Marshal(document) // unlike encodeJSON it escapes HTML, which a path may hold
	if encodeErr != nil {
		return none, false
	}
	return s.family.make(httpResponse{status: k.status, body: string(body)}.adding(headers, r.form)), true
}

// statusOf is the status of a problem, which the configuration may have changed.
func (h HTTP) statusOf(k problemKind) int {
	switch k.outcome {
	case OutcomeInProgress:
		return h.InProgressStatus
	case OutcomeMismatch:
		return h.MismatchStatus
	default:
		return k.status
	}
}

// detail tells a client what is wrong with its header, or that it is missing. What a user's function or expression made of the request stays
// here.
func detail(k problemKind, err error) string {
	if invalid, ok := err.(*InvalidKeyError); ok { //nolint:errorlint // see kindOf
		if wrong, ok := invalid.Err.(malformed); ok { //nolint:errorlint // nor what a user's function failed with
			return "The idempotency key " + wrong.reason + ". " + wrong.remedy
		}
	}
	if missing, ok := err.(*MissingKeyError); ok { //nolint:errorlint // see kindOf
		if header, ok := strings.CutPrefix(missing.Source, sourceHeader); ok {
			return "This operation requires an idempotency key in the header " + header + ". " + freshKey
		}
	}
	if stale, ok := err.(*StaleRequestError); ok { //nolint:errorlint // see kindOf
		return "The timestamp in " + stale.Source + " " + stale.Reason + "."
	}
	return k.detail
}

// instance names the occurrence by a relative reference: the path, and the id that the gateway gave the request. A path
// that is percent-encoded already stays as it is.
func instance(r *httpRequest) string {
	u := url.URL{Path: r.path, Fragment: r.requestID}
	if path, err := url.PathUnescape(r.path); err == nil {
		u.Path, u.RawPath = path, r.path
	}
	reference := strings.ReplaceAll(u.String(), "'", "%27") // whoever quotes it in HTML may do so with either quote
	if strings.HasPrefix(reference, "//") {
		return "/." + reference // or the path would name a host (RFC 3986, section 4.2)
	}
	return reference
}

func (h HTTP) problemHeaders(err error) map[string]string {
	headers := map[string]string{
		"Content-Type":     "application/problem+json",
		"Content-Language": "en",
		"Cache-Control":    "no-store",
	}
	switch err := err.(type) { //nolint:errorlint // see kindOf
	case *InProgressError:
		headers["Retry-After"] = h.retryAfter(err.RetryAfter)
	case *StoreUnavailableError:
		headers["Retry-After"] = h.retryAfter(outageRetryAfter)
	}
	return headers
}

func (h HTTP) retryAfter(d time.Duration) string {
	if h.MaxRetryAfter > 0 {
		d = min(d, h.MaxRetryAfter.Truncate(time.Second))
	}
	return retryAfter(d)
}

// retryAfter is the value of the header in whole seconds, rounded up, at least one (RFC 9110, section 10.2.3).
func retryAfter(d time.Duration) string {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(max(seconds, 1), 10)
}
