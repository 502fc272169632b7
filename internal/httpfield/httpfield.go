// Package httpfield says what header fields mean: which names have a meaning already, how a key is
// read from its header, how times and durations are written, and which media types are JSON.
//
// The package knows texts only. It must not know gateways, events, records or options. A rule about
// a header is found here once, whichever part of the module applies it.
package httpfield

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// MaxKey is the length of the longest key that a header may carry, in characters. It is the limit
// of the Stripe API.
const MaxKey = 255

// MalformedError says what is wrong with the header of a key, and continues a sentence that begins
// with "the idempotency key". It does not hold the key, so a client may read it.
type MalformedError string

func (m MalformedError) Error() string { return string(m) }

// ReadKey returns the key in the values of its header. check says what is wrong with the form of a
// key; nil accepts every key. The errors of ReadKey are of type [MalformedError].
func ReadKey(values []string, check func(key string) error) (string, error) {
	key, err := parseKey(values)
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", MalformedError("is empty")
	case len(key) > MaxKey:
		return "", MalformedError(fmt.Sprintf("is longer than %d characters", MaxKey))
	case check == nil:
		return key, nil
	}
	err = check(key)
	switch {
	case err == nil:
		return key, nil
	case strings.Contains(err.Error(), key): // a client reads it
		return "", MalformedError("does not have the required form")
	default:
		return "", MalformedError(err.Error())
	}
}

// Remedy tells a client whose key is malformed what it may send.
const Remedy = "Send the header once, with a key of 1 to 255 printable ASCII characters, in double quotes if it " +
	"holds a space, comma, semicolon, double quote or backslash."

// parseKey reads the values of the header. A client may send the key as an Item of RFC 9651 whose
// value is a String, or as bare text, which most clients do. Both give the same key. White space
// around it (RFC 9110, section 5.5) and well-formed parameters behind a String do not count.
//
// A bare key holds any printable ASCII but space, comma, semicolon, double quote and backslash,
// which mean something in a field: a client that needs one of those sends a String. A bare key with
// a semicolon is not cut there, because who sends order;1 and order;2 means two keys. A bare key
// need not be a Token of the RFC, so UUIDs, numbers, base64 and URLs are taken as they are.
func parseKey(values []string) (string, error) {
	if len(values) != 1 {
		return "", MalformedError("was sent more than once")
	}
	field := strings.Trim(values[0], " \t")
	if strings.HasPrefix(field, `"`) {
		item, err := httpsfv.UnmarshalItem([]string{field})
		if err != nil {
			return "", MalformedError("is no structured string with well-formed parameters " +
				"(RFC 9651, section 3.3.3), or was sent more than once")
		}
		key, _ := item.Value.(string) // an item that begins with a quote is always a string
		return key, nil
	}
	for _, c := range []byte(field) {
		switch {
		case c < '!' || c > '~':
			return "", MalformedError("holds a space or a character that is not printable ASCII")
		case c == ',':
			return "", MalformedError("was sent more than once, or holds a comma outside quotes")
		case c == ';':
			return "", MalformedError("holds a semicolon outside quotes, which would begin a parameter " +
				"(RFC 9651, section 3.1.2)")
		case c == '"' || c == '\\':
			return "", MalformedError("holds a quote or a backslash, which needs a structured string " +
				"(RFC 9651, section 3.3.3)")
		}
	}
	return field, nil
}

// Names of headers that more than one rule is about, in lower case. A header may come in any
// spelling, so compare names with [IsOneOf] or strings.EqualFold.
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
	"transfer-encoding", "upgrade",
}

// otherHeaders are read or set by clients, caches and gateways.
var otherHeaders = []string{
	"accept", "authorization", "cache-control", "content-encoding", "content-length", ContentType, "cookie", DateHeader,
	"etag", "expires", "forwarded", "host", "location", "origin", "referer", "retry-after", "server", SetCookie,
	"user-agent", "vary", "via", "www-authenticate", "x-api-key", TraceID, ForwardedFor,
}

// unsteadyHeaders differ between two tries of one request, or are set by a gateway.
var unsteadyHeaders = []string{
	"authorization", "cookie", DateHeader, "traceparent", "tracestate", "via", "x-amz-cf-id", "x-amz-date",
	"x-amz-security-token", TraceID, ForwardedFor, "x-request-id",
}

// IsToken reports whether s is a token (RFC 9110, section 5.6.2), as header names and methods are.
func IsToken(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && strings.Trim(s, letters+"0123456789!#$%&'*+-.^_`|~") == ""
}

// HasMeaning reports whether a header, in any spelling, means something already, so that it carries
// neither a key nor an expiry.
func HasMeaning(name string) bool {
	return IsConnection(name) || IsOneOf(otherHeaders, name) || strings.EqualFold(name, Replayed)
}

// IsConnection reports whether a header, in any spelling, belongs to one connection.
func IsConnection(name string) bool { return IsOneOf(connectionHeaders, name) }

// Unsteady reports whether a header, in any spelling, differs between two tries of one request. A
// fingerprint that covered it would take each retry for another request.
func Unsteady(name string) bool { return IsOneOf(unsteadyHeaders, name) }

// IsOneOf reports whether names has a name, in any spelling.
func IsOneOf(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
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

// IsJSON reports whether a media type is a JSON one by the MIME Sniffing Standard, section 4.6, or
// empty. Its parameters do not count.
func IsJSON(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	media = strings.ToLower(strings.Trim(media, " \t"))
	return media == "" || media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// Date is the layout of an HTTP-date in its preferred form (RFC 9110, section 5.6.7). An HTTP-date
// is always in GMT: convert a time to UTC before you format it.
const Date = "Mon, 02 Jan 2006 15:04:05 GMT"

// ParseTimestamp reads Unix time in seconds (digits alone), a time of RFC 3339, or an HTTP-date in
// its preferred form. It reports false for anything else, such as Unix time in milliseconds, or
// repeated headers, which a gateway joins with a comma.
func ParseTimestamp(text string) (time.Time, bool) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		const longest = 11 // a timestamp in milliseconds has more digits
		seconds, err := strconv.ParseInt(text, 10, 64)
		return time.Unix(seconds, 0), err == nil && len(text) <= longest
	}
	for _, layout := range []string{time.RFC3339, Date} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Seconds writes a duration in seconds, with its unit, for clients that do not read Go's spelling.
func Seconds(d time.Duration) string {
	if d == time.Second {
		return "1 second"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " seconds"
}

// RetryAfter is the value of a Retry-After header (RFC 9110, section 10.2.3): whole seconds,
// rounded up, at least one.
func RetryAfter(d time.Duration) string {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(max(seconds, 1), 10)
}
