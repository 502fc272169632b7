package idempotent

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// HTTP configures an HTTP handler. A zero field means its default.
type HTTP struct {
	// Profile is what the other fields default to, and the form of problem documents. Default [ProfileIETF].
	Profile Profile

	// Protect reports whether a request is protected. Default nil: each one is, as its method asks. A request for which it returns
	// false runs unprotected, whatever header it carries and whatever key [WithKey], [WithKeyPath] or [WithPowertools] would find:
	// the handler runs each time, nobody is asked for a key or a tenant, and its response is sent untouched. It is not asked about
	// methods that are never protected, see [WithHTTP].
	//
	// method is in capitals. path is decoded, and lacks the stage that an HTTP API puts in front of it. Where routers may read the
	// path of a request in several ways, Protect is asked about each of them, and one yes protects: a path with dot segments, with
	// several slashes in a row or with one at its end is asked about cleaned, too, and one with unusual escapes (%2F, %61) as it was
	// sent, too. Upper and lower case are yours. It must be safe for concurrent use.
	Protect func(method, path string) bool
	// Route names the route of a request for [report.Delivery.Route]. It gets what Protect gets, the path that most routers match, and
	// returns one of a small set of names, never the path itself: a handler has at most 100 names, and every further one is
	// "other". Empty means no name. It is asked only if there is an observer, and must be safe for concurrent use. Default nil: the
	// method and the template of the gateway, such as "POST /orders/{id}", or "POST (any)" where the gateway has no template or a
	// greedy one, as in front of a router.
	Route func(method, path string) string

	// Header is the request header with the key. Default "Idempotency-Key". Wrap refuses a header that has another
	// meaning, such as "Authorization".
	Header string
	// MinKey and MaxKey bound the length of the key in that header, in characters. Default 1 and 255; neither is above 255.
	MinKey, MaxKey int
	// KeyFormat is a regular expression of package regexp that the whole key in that header must match, for example
	// [KeyUUID]. A client whose key does not match is told the expression. Default none.
	KeyFormat string
	// RequireKey names the methods that must carry a key. Default POST and PATCH; empty but not nil means none. A
	// request with another method runs unprotected if it carries no key. GET, HEAD and OPTIONS have no effect to
	// protect: Wrap refuses them here, and a header does not protect them, see [WithHTTP]. With [WithPowertools] every method needs its key,
	// and Wrap refuses this field.
	RequireKey []string

	// RequireTenant refuses with 401 a request whose caller nothing identifies, if the request carries a key or must carry
	// one. Without RequireTenant all such callers share one scope. [WithHTTP] lists what identifies a caller; the tenant of a
	// function with tenant isolation does so too. A caller whom an authorizer let in without a usable name is refused also
	// without RequireTenant. With [WithTenant] this field changes nothing: a request for which its function finds no tenant is
	// refused with 500. Behind a load balancer, and behind a function URL that everybody may call, nobody can be
	// identified: use WithTenant there.
	RequireTenant bool
	// FingerprintHeaders are request headers that the fingerprint covers besides method, path, query and body, for
	// example "Accept-Language". A replay has the bytes of the first response, also for a client that would get another form of it:
	// name the headers of the Vary of your responses here, such as "Accept-Encoding". Default none. The values of a header count in the order in which they were sent, and a
	// missing header is not an empty one. Every retry must send the same values. So Wrap refuses the header of the key,
	// and headers that carry credentials, times, ids or addresses. If you change the list, a retry of an earlier
	// request is a mismatch until its record expires.
	FingerprintHeaders []string

	// TimestampHeader and MaxRequestAge together set a limit on the age of a request that carries a key. The header
	// holds the time of the request: Unix time in seconds, a time of RFC 3339, or an HTTP-date (Sun, 06 Nov 1994
	// 08:49:37 GMT). The request is refused with 400 if the header is missing or malformed, if its time is
	// MaxRequestAge ago or longer, or if it is more than a minute ahead of the clock. The time is never part of the
	// fingerprint.
	//
	// The limit keeps a request that is sent again after its record has expired from being executed again. So it is at
	// most the retention less that minute, and at least one second. Default no limit.
	TimestampHeader string
	MaxRequestAge   time.Duration

	// InProgressStatus is the status of the answer to a request whose key is held by a running execution: 409, which is
	// the default, 425 or 202. Status 202 is no error: the members of the problem document are then sent as
	// application/json.
	InProgressStatus int
	// MismatchStatus is the status of the answer to a key that was used for another request: 400, 409 or 422. Default
	// 422, or 400 of [ProfileStripe].
	MismatchStatus int
	// MaxRetryAfter is the longest time that the Retry-After header tells clients to wait: at least one second;
	// fractions of a second are cut off. Default no limit: a client is told how much time the lease of the running
	// execution has left. On Lambda that is at most the timeout of the function and the margin, see [Timing].
	MaxRetryAfter time.Duration

	// StoreStatus reports whether responses with a status are stored. It is asked about 200 to 599; a response with
	// another status, or with none, is never stored. Default is the rule of the profile, see [WithHTTP]. Wrap refuses
	// it together with [WithStoreIf].
	StoreStatus func(status int) bool
	// StoreCookies stores Set-Cookie headers and cookies with the response, so that a replay sets them again. By default
	// they are left out of what is stored: a session must not be handed out twice.
	StoreCookies bool

	// ExpiresHeader is the response header that says until when the answer is replayed, as an HTTP-date. Default
	// "Idempotency-Key-Expires"; "-" sends none. Wrap refuses a header that has another meaning, such as "Expires".
	ExpiresHeader string
	// ProblemBase is the beginning of the type of every problem document. The name of the problem, for example
	// "mismatch", follows it without anything between. ProblemBase is a URI with the scheme http, https, urn or tag,
	// for example "https://api.example.com/problems#", or a relative reference. Default is the page of this module that
	// explains the problems.
	ProblemBase string
}

// KeyUUID is a [HTTP.KeyFormat] that demands a UUID of any version in its text form (RFC 9562, section 4). Digits may be in
// upper or lower case, but a key is compared as it was sent: one UUID in two spellings is two keys.
const KeyUUID = httpfield.KeyUUID

// problemBase is the default of [HTTP.ProblemBase]: each type resolves to the page that explains it.
const problemBase = "https://github.com/go-idempotent/idempotent/blob/main/docs/problems.md#"

// clockSkew is how far the timestamp of a request may be ahead of our clock.
const clockSkew = time.Minute

func neverProtected(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS"
}

// noHeader, as the name of a response header, means that the header is not sent.
const noHeader = "-"

// gateway returns what the handler wants of its gateway.
func (h HTTP) gateway() gateway.Settings {
	s := gateway.Settings{
		Headers: append([]string{h.Header}, h.FingerprintHeaders...), ExpiresHeader: h.ExpiresHeader, StoreCookies: h.StoreCookies,
	}
	if h.TimestampHeader != "" {
		s.Headers = append(s.Headers, h.TimestampHeader)
	}
	if h.ExpiresHeader == noHeader {
		s.ExpiresHeader = ""
	}
	return s
}

func (h HTTP) withDefaults() HTTP {
	if h.Header == "" {
		h.Header = "Idempotency-Key"
	}
	if h.MinKey == 0 {
		h.MinKey = 1
	}
	if h.MaxKey == 0 {
		h.MaxKey = httpfield.MaxKey
	}
	if h.RequireKey == nil {
		h.RequireKey = []string{"POST", "PATCH"}
	}
	h.RequireKey = slices.Clone(h.RequireKey) // the caller may go on using the slice
	h.FingerprintHeaders = httpfield.Lowered(h.FingerprintHeaders)
	if h.InProgressStatus == 0 {
		h.InProgressStatus = 409
	}
	if h.MismatchStatus == 0 {
		h.MismatchStatus = h.Profile.mismatchStatus()
	}
	if h.ExpiresHeader == "" {
		h.ExpiresHeader = httpfield.ExpiresHeader
	}
	if h.ProblemBase == "" {
		h.ProblemBase = problemBase
	}
	return h
}

// keyRules returns the rules for keys. An invalid KeyFormat counts as none, because validateKey has reported it.
func (h HTTP) keyRules() httpfield.KeyRules {
	h = h.withDefaults()
	format, _ := httpfield.CompileKeyFormat(h.KeyFormat) // validateKey has reported the error
	return httpfield.KeyRules{Min: h.MinKey, Max: h.MaxKey, Format: format, Pattern: h.KeyFormat}
}
