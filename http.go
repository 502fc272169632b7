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
	// A request for which it returns false runs unprotected, whatever key it carries or an option
	// would find: the handler runs each time, nobody is asked for a key or a tenant, and the
	// response is sent untouched. It is not asked about methods that are never protected, see
	// [WithHTTP].
	//
	// method is in capitals. path is decoded, and lacks the stage that an HTTP API puts in front of
	// it. Where routers may read a path in several ways, Protect is asked about each, and one yes
	// protects: a path with dot segments, several slashes in a row or one at its end also cleaned,
	// and one with unusual escapes (%2F, %61) also as it was sent. Upper and lower case are yours.
	// It must be safe for concurrent use.
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
	// CheckKey refuses a key in that header whose form is not the one that you ask for: an error is
	// answered with 400, before any I/O. The client is told its text behind "The idempotency key",
	// for example "is no UUID", unless it quotes the key. CheckKey gets 1 to 255 printable ASCII
	// characters, and must be safe for concurrent use. Default nil: each such key will do.
	CheckKey func(key string) error
	// RequireKey names the methods that must carry a key. Default POST and PATCH; empty but not nil
	// means none. A request with another method runs unprotected if it carries no key. Wrap refuses
	// GET, HEAD and OPTIONS, which have no effect to protect, and the whole field with
	// [WithPowertools], where every method needs its key.
	RequireKey []string

	// RequireTenant refuses with 401 a request whose caller nothing identifies, if the request
	// carries a key or must carry one. Without it all such callers share one scope, see [WithHTTP].
	// The tenant of a function with tenant isolation is enough. With [WithTenant] this field
	// changes nothing. Behind a load balancer, and behind a function URL that everybody may call,
	// nobody can be identified: use WithTenant there.
	RequireTenant bool
	// FingerprintHeaders are request headers that the fingerprint covers besides method, path,
	// query and body, for example "Accept-Language". Name those in the Vary of your responses, such
	// as "Accept-Encoding": a replay has the bytes of the first response, also for a client that
	// would get another form of it. Default none. Values count in the order in which they were
	// sent, and a missing header is not an empty one. Every retry must send the same, so Wrap
	// refuses the header of the key, and headers that carry credentials, times, ids or addresses.
	// After a change, a retry of an earlier request is a mismatch until its record expires.
	FingerprintHeaders []string

	// TimestampHeader and MaxRequestAge together set a limit on the age of a request that carries a
	// key. The header holds the time of the request: Unix time in seconds, a time of RFC 3339, or
	// an HTTP-date (Sun, 06 Nov 1994 08:49:37 GMT). The request is refused with 400 if the header
	// is missing or malformed, if its time is MaxRequestAge ago or longer, or if it is more than a
	// minute ahead of the clock. The time is never part of the fingerprint. So no request is
	// executed again that comes after its record has expired: the limit is at least one second, and
	// at most the retention less that minute. Default no limit.
	TimestampHeader string
	MaxRequestAge   time.Duration

	// MismatchStatus is the status of the answer to a key that was used for another request: 400,
	// 409 or 422. Default 422.
	MismatchStatus int
}

// problemBase begins the type of every problem document, and resolves to the page about it.
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
