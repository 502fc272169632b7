package idempotent

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// fingerprint digests the request itself: never ids, times, or headers that differ between deliveries. headers are the
// lower-cased names of those that count.
func (r *httpRequest) fingerprint(h *fingerprint.Hash, headers []string) string {
	h.String("http")
	h.String(r.method)
	h.String(r.path)
	r.query.digest(h)
	r.digestBody(h)
	for _, name := range headers {
		h.String(name)
		values := r.event.headers.of(name)
		h.String(strconv.Itoa(len(values)))
		for _, value := range values {
			h.String(value)
		}
	}
	return h.Text()
}

// digestBody writes a tag behind the body, because only canonicalising it tells whether it is JSON. Refusing a body that
// is not is the handler's business; here it counts by its bytes.
func (r *httpRequest) digestBody(h *fingerprint.Hash) {
	body := r.event.decodedBody()
	if r.mayBeJSON() && h.JSON(body) == nil {
		h.String("json")
		return
	}
	h.Bytes(body)
	h.String("bytes")
}

func (e *httpEvent) decodedBody() []byte {
	if e.isBase64 {
		if body, err := base64.StdEncoding.AppendDecode(nil, e.body); err == nil {
			return body
		}
	}
	return e.body
}

// mayBeJSON reports whether every media type says that the body is JSON, or there is none.
func (r *httpRequest) mayBeJSON() bool {
	for _, media := range r.event.headers.of(mediaHeader) {
		if !isJSON(media) {
			return false
		}
	}
	return true
}

// isJSON reports whether a media type is a JSON one by the MIME Sniffing Standard, section 4.6, or empty.
func isJSON(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	switch media = strings.ToLower(strings.Trim(media, " \t")); media {
	case "", "application/json", "text/json":
		return true
	default:
		return strings.HasSuffix(media, "+json")
	}
}

// lowered is a sorted copy of header names in lower case: the order in which they are configured does not count.
func lowered(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.ToLower(name)
	}
	slices.Sort(all)
	return all
}

// unsteady are headers that a retry of one request does not repeat, or a gateway sets itself.
var unsteady = []string{
	"authorization", "cookie", dateHeader, "traceparent", "tracestate", "via", "x-amz-cf-id", "x-amz-date", "x-amz-security-token",
	traceHeader, forwardedHeader, "x-request-id",
}

func (h HTTP) validateFingerprintHeaders() []error {
	var errs []error
	addf := func(format string, name string) {
		errs = append(errs, fmt.Errorf("WithHTTP: FingerprintHeaders: "+format, name))
	}
	seen := map[string]bool{}
	for _, name := range h.FingerprintHeaders {
		switch lower := strings.ToLower(name); {
		case !isToken(name):
			addf("%q is no header name", name)
		case seen[lower]:
			addf("%q is there twice", name)
		case strings.EqualFold(name, h.withDefaults().Header):
			addf("%q carries the key", name)
		case slices.Contains(unsteady, lower):
			addf("%q differs between deliveries of one request", name)
		}
		seen[strings.ToLower(name)] = true
	}
	return errs
}

// query is that of a request.
type query struct {
	// fields are the decoded names and values, those of one name in the order they were sent.
	fields []field
	// opaque is the query as it was sent, if it cannot be decoded.
	opaque string
}

type field struct{ name, value string }

// digest brings the fields into the order in which they count.
func (q query) digest(h *fingerprint.Hash) {
	h.String(q.opaque)
	slices.SortStableFunc(q.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	h.String(strconv.Itoa(len(q.fields)))
	for _, f := range q.fields {
		h.String(f.name)
		h.String(f.value)
	}
}

// parseQuery reads a raw query string.
func parseQuery(raw string) query {
	if raw == "" {
		return query{}
	}
	q := query{fields: make([]field, 0, 1+strings.Count(raw, "&"))}
	for text := range strings.SplitSeq(raw, "&") {
		if text == "" {
			continue
		}
		name, value, _ := strings.Cut(text, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			return query{opaque: raw}
		}
		q.fields = append(q.fields, field{name, value})
	}
	return q
}

// queryOf collects the fields of a query that the gateway has taken apart. The multi-value map holds all values of the
// names that it has at all. The order of names does not count, but two names may turn out to be one when decoded.
func queryOf(single map[string]string, multi map[string][]string) query {
	var q query
	for _, name := range slices.Sorted(maps.Keys(multi)) {
		for _, value := range multi[name] {
			q.fields = append(q.fields, field{name, value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(single)) {
		if len(multi[name]) == 0 {
			q.fields = append(q.fields, field{name, single[name]})
		}
	}
	return q
}
