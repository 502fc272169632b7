package httpfield

import (
	"slices"
	"strings"
)

// Names of headers that more than one rule is about. They are in lower case. A header may come in
// any spelling, so compare names with [IsOneOf] or strings.EqualFold.
const (
	Connection   = "connection"
	ContentType  = "content-type"
	DateHeader   = "date"
	ForwardedFor = "x-forwarded-for"
	SetCookie    = "set-cookie"
	// TraceID is the header that API Gateway and load balancers add to every request. They extend
	// the value of a client that sends the header itself.
	TraceID = "x-amzn-trace-id"
)

// The headers of an answer that this module adds, as they are sent.
const (
	// Replayed marks a replay.
	Replayed = "Idempotent-Replayed"
	// ExpiresHeader says until when the answer is replayed, if the configuration gives that header
	// no other name.
	ExpiresHeader = "Idempotency-Key-Expires"
)

// connectionHeaders belong to one connection (RFC 9110, section 7.6.1).
var connectionHeaders = []string{
	Connection, "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
	"transfer-encoding",
	"upgrade",
}

// otherHeaders are read or set by clients, caches and gateways.
var otherHeaders = []string{
	"accept", "authorization", "cache-control", "content-encoding", "content-length", ContentType, "cookie", DateHeader,
	"etag", "expires",
	"forwarded", "host", "location", "origin", "referer", "retry-after", "server", SetCookie,
	"user-agent", "vary", "via",
	"www-authenticate", "x-api-key", TraceID, ForwardedFor,
}

// unsteadyHeaders differ between two tries of one request, or are set by a gateway.
var unsteadyHeaders = []string{
	"authorization", "cookie", DateHeader, "traceparent", "tracestate", "via", "x-amz-cf-id", "x-amz-date",
	"x-amz-security-token",
	TraceID, ForwardedFor, "x-request-id",
}

// IsToken reports whether s is a token of RFC 9110, section 5.6.2. Header names and methods are
// tokens.
func IsToken(s string) bool {
	for _, c := range []byte(s) {
		alphanumeric := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// HasMeaning reports whether a header, in any spelling, means something already. Such a header
// carries neither a key nor an expiry.
func HasMeaning(name string) bool {
	return IsConnection(name) || IsOneOf(otherHeaders, name) || strings.EqualFold(name, Replayed)
}

// IsConnection reports whether a header, in any spelling, belongs to one connection. Such a header
// means nothing on another connection, so it is never replayed.
func IsConnection(name string) bool { return IsOneOf(connectionHeaders, name) }

// Unsteady reports whether a header, in any spelling, differs between two tries of one request. A
// fingerprint that covered it would take each retry for another request.
func Unsteady(name string) bool { return IsOneOf(unsteadyHeaders, name) }

// IsOneOf reports whether names has a name, in any spelling.
func IsOneOf(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// Lowered returns a copy of names in lower case. The copy is sorted, because the order in which
// headers are configured does not count.
func Lowered(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.ToLower(name)
	}
	slices.Sort(all)
	return all
}
