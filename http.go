package idempotent

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// HTTP configures an HTTP handler. A zero field means its default.
type HTTP struct {
	// Protect reports whether a request is protected. Default nil: each one is, as its method asks.
	// A request for which it returns false runs unprotected, whatever header it carries and
	// whatever key [WithKey], [WithKeyPath] or [WithPowertools] would find: the handler runs each
	// time, nobody is asked for a key or a tenant, and its response is sent untouched. It is not
	// asked about methods that are never protected, see [WithHTTP].
	//
	// method is in capitals. path is decoded, and lacks the stage that an HTTP API puts in front of
	// it. Where routers may read the path of a request in several ways, Protect is asked about each
	// of them, and one yes protects: a path with dot segments, with several slashes in a row or
	// with one at its end is asked about cleaned, too, and one with unusual escapes (%2F, %61) as
	// it was sent, too. Upper and lower case are yours. It must be safe for concurrent use.
	Protect func(method, path string) bool
	// Route names the route of a request for [report.Delivery.Route]. It gets what Protect gets,
	// the path that most routers match, and returns one of a small set of names, never the path
	// itself: a handler has at most 100 names, and every further one is "other". Empty means no
	// name. It is asked only if there is an observer, and must be safe for concurrent use. Default
	// nil: the method and the template of the gateway, such as "POST /orders/{id}", or "POST (any)"
	// where the gateway has no template or a greedy one, as in front of a router.
	Route func(method, path string) string

	// Header is the request header with the key. Default "Idempotency-Key". Wrap refuses a header
	// that has another meaning, such as "Authorization".
	Header string
	// CheckKey refuses a key in that header whose form is not the one that you ask for: a request
	// for whose key it returns an error is answered with 400, before any I/O. The client is told
	// the text of the error behind "The idempotency key", for example "is no UUID". A text that
	// quotes the key is not shown. CheckKey gets 1 to 255 printable ASCII characters, and must be
	// safe for concurrent use. Default nil: each such key will do.
	CheckKey func(key string) error
	// RequireKey names the methods that must carry a key. Default POST and PATCH; empty but not nil
	// means none. A request with another method runs unprotected if it carries no key. GET, HEAD
	// and OPTIONS have no effect to protect: Wrap refuses them here, and a header does not protect
	// them, see [WithHTTP]. With [WithPowertools] every method needs its key, and Wrap refuses this
	// field.
	RequireKey []string

	// RequireTenant refuses with 401 a request whose caller nothing identifies, if the request
	// carries a key or must carry one. Without RequireTenant all such callers share one scope.
	// [WithHTTP] lists what identifies a caller; the tenant of a function with tenant isolation
	// does so too. A caller whom an authorizer let in without a usable name is refused also without
	// RequireTenant. With [WithTenant] this field changes nothing: a request for which its function
	// finds no tenant is refused with 500. Behind a load balancer, and behind a function URL that
	// everybody may call, nobody can be identified: use WithTenant there.
	RequireTenant bool
	// FingerprintHeaders are request headers that the fingerprint covers besides method, path,
	// query and body, for example "Accept-Language". A replay has the bytes of the first response,
	// also for a client that would get another form of it: name the headers of the Vary of your
	// responses here, such as "Accept-Encoding". Default none. The values of a header count in the
	// order in which they were sent, and a missing header is not an empty one. Every retry must
	// send the same values. So Wrap refuses the header of the key, and headers that carry
	// credentials, times, ids or addresses. If you change the list, a retry of an earlier request
	// is a mismatch until its record expires.
	FingerprintHeaders []string

	// TimestampHeader and MaxRequestAge together set a limit on the age of a request that carries a
	// key. The header holds the time of the request: Unix time in seconds, a time of RFC 3339, or
	// an HTTP-date (Sun, 06 Nov 1994 08:49:37 GMT). The request is refused with 400 if the header
	// is missing or malformed, if its time is MaxRequestAge ago or longer, or if it is more than a
	// minute ahead of the clock. The time is never part of the fingerprint.
	//
	// The limit keeps a request that is sent again after its record has expired from being executed
	// again. So it is at most the retention less that minute, and at least one second. Default no
	// limit.
	TimestampHeader string
	MaxRequestAge   time.Duration

	// MismatchStatus is the status of the answer to a key that was used for another request: 400,
	// 409 or 422. Default 422.
	MismatchStatus int
}

// problemBase is the beginning of the type of every problem document, which resolves to the page
// that explains it.
const problemBase = "https://github.com/go-idempotent/idempotent/blob/main/docs/problems.md#"

// clockSkew is how far the timestamp of a request may be ahead of our clock.
const clockSkew = time.Minute

func (h HTTP) withDefaults() HTTP {
	h.Header = cmp.Or(h.Header, "Idempotency-Key")
	h.MismatchStatus = cmp.Or(h.MismatchStatus, 422)
	if h.RequireKey == nil {
		h.RequireKey = []string{"POST", "PATCH"}
	}
	h.RequireKey = slices.Clone(h.RequireKey) // the caller may go on using the slice
	h.FingerprintHeaders = httpfield.Lowered(h.FingerprintHeaders)
	return h
}
