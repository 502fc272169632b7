package idempotent

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// outageRetryAfter is when a client may try again after an outage of the store.
const outageRetryAfter = 2 * time.Second

const freshKey = "Send a new one with each new request, and the same one with each retry."

type problemKind struct {
	status              int
	name, title, detail string
}

// problemKinds is the one place that knows which error is answered how.
var problemKinds = map[error]problemKind{
	ErrMissingKey: {
		400, "missing-key", "Idempotency key is missing",
		"This operation requires an idempotency key. " + freshKey,
	},
	ErrInvalidKey: {
		400, "invalid-key", "Idempotency key is invalid",
		"The idempotency key cannot be used for this request.",
	},
	ErrStaleRequest: {
		400, "stale-request", "The timestamp of the request is not accepted",
		"The timestamp of the request is missing, malformed or too old.",
	},
	ErrMissingTenant: {
		401, "missing-tenant", "The caller is not identified",
		"This operation keeps the idempotency keys of its callers apart. Nothing in this request identifies the caller.",
	},
	ErrMismatch: {
		422, "mismatch", "Idempotency key was used for another request",
		"This idempotency key belongs to a request with other content. Send a new key with a new request.",
	},
	ErrInProgress: {
		409, "in-progress", "A request with this idempotency key is in progress",
		"The first request with this idempotency key has not been answered yet. Retry after the time given.",
	},
	ErrSuperseded: {
		409, "superseded", "Another delivery of the request has taken over",
		"This delivery of the request was executed, but took so long that another delivery executes the request, too. " +
			"The answer to that one counts. Retry after the time given.",
	},
	ErrUnknownOutcome: {
		409, "unknown-outcome", "The outcome of the request is unknown",
		"An earlier request with this idempotency key may have taken effect. It is not repeated until its outcome " +
			"is settled.",
	},
	ErrUnreadable: {
		500, "unreadable-record", "The stored answer cannot be read",
		"The record of this idempotency key cannot be read. This delivery of the request was not executed; an " +
			"earlier one may have been.",
	},
	ErrStoreUnavailable: {
		503, "store-unavailable", "The request cannot be protected right now",
		"This delivery of the request was not executed; an earlier one may have been. Retry it with the same " +
			"idempotency key.",
	},
	errAnswered: {
		503, "commit-failed", "The answer could not be stored",
		"This delivery of the request was executed, but what it wanted to write could not be written. Retry it with " +
			"the same idempotency key.",
	},
	ErrWrappedTwice: {
		500, "wrapped-twice", "The server is not set up correctly",
		"The server protects this operation twice, and so cannot execute it. This delivery of the request was not " +
			"executed.",
	},
	ErrRefused: {
		500, "refused", "The request could not be prepared",
		"The server could not work out what this request and its key stand for. This delivery of the request was " +
			"not executed.",
	},
}

// problemDocument is RFC 9457, section 3. Its members are always in this order.
type problemDocument struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance,omitempty"`
}

// problem returns a document that holds nothing of the request but its path and id.
func (h HTTP) problem(r *gateway.Request, err *Error) (status int, body string, _ error) {
	k := problemKinds[err.Kind]
	if errors.Is(err.Kind, ErrMismatch) {
		k.status = h.MismatchStatus
	}
	document := problemDocument{
		Type: problemBase + k.name, Title: k.title, Status: k.status, Detail: detail(k, err),
		Instance: instance(r),
	}
	text, encodeErr := json.Marshal(document) // unlike encodeJSON it escapes HTML, which a path may hold
	return k.status, string(text), encodeErr
}

// detail never quotes the error of a user's function or expression, which may quote the request.
func detail(k problemKind, err *Error) string {
	switch err.Kind {
	case ErrInvalidKey: //nolint:errorlint // the sentinel itself
		if wrong, ok := err.Err.(httpfield.MalformedError); ok { //nolint:errorlint // not what a user's function failed with
			return "The idempotency key " + string(wrong) + ". " + httpfield.Remedy
		}
	case ErrMissingKey:
		if header, ok := strings.CutPrefix(err.Field, sourceHeader); ok {
			return "This operation requires an idempotency key in the header " + header + ". " + freshKey
		}
	case ErrStaleRequest:
		return "The timestamp in " + err.Field + " " + err.Reason + "."
	}
	return k.detail
}

// instance returns a relative reference that names this one request: its path, and the id that the
// gateway gave it. A path that is already percent-encoded stays as it is.
func instance(r *gateway.Request) string {
	u := url.URL{Path: r.Path, Fragment: r.RequestID}
	if path, err := url.PathUnescape(r.Path); err == nil {
		u.Path, u.RawPath = path, r.Path
	}
	reference := strings.ReplaceAll(u.String(), "'", "%27") // so that HTML may put it into quotes of either kind
	if strings.HasPrefix(reference, "//") {
		return "/." + reference // or the path would name a host (RFC 3986, section 4.2)
	}
	return reference
}

func problemHeaders(err *Error) map[string]string {
	headers := map[string]string{
		"Content-Type":     "application/problem+json",
		"Content-Language": "en",
		"Cache-Control":    "no-store",
	}
	switch err.Kind {
	case ErrInProgress, ErrSuperseded: //nolint:errorlint // the sentinel itself
		headers["Retry-After"] = httpfield.RetryAfter(err.RetryAfter)
	case ErrStoreUnavailable, errAnswered:
		headers["Retry-After"] = httpfield.RetryAfter(outageRetryAfter)
	}
	return headers
}
