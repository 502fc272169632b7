package idempotent

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// fingerprint digests the request itself: never ids, times, or headers that differ between deliveries.
func (r httpRequest) fingerprint(h *fingerprint.Hash) string {
	h.String("http")
	h.String(r.method)
	h.String(r.path)
	r.query.digest(h)
	body := r.bodyBytes()
	// The tag follows the body, because only canonicalising it tells whether it is JSON. Refusing a body that is not is
	// the handler's business; here it counts by its bytes.
	if r.mayBeJSON() && h.JSON(body) == nil {
		h.String("json")
		return h.Text()
	}
	h.Bytes(body)
	h.String("bytes")
	return h.Text()
}

func (r httpRequest) bodyBytes() []byte {
	if r.isBase64 {
		if body, err := base64.StdEncoding.DecodeString(r.body); err == nil {
			return body
		}
	}
	return []byte(r.body)
}

// mayBeJSON reports whether every media type says that the body is JSON, or there is none.
func (r httpRequest) mayBeJSON() bool {
	for _, media := range r.headers["content-type"] {
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

// query is that of a request.
type query struct {
	// fields are the decoded names and values, those of one name in the order they were sent.
	fields []field
	// opaque is the query as it was sent, if it cannot be decoded.
	opaque string
}

type field struct{ name, value string }

func (q query) digest(h *fingerprint.Hash) {
	h.String(q.opaque)
	fields := slices.Clone(q.fields)
	slices.SortStableFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	h.String(strconv.Itoa(len(fields)))
	for _, f := range fields {
		h.String(f.name)
		h.String(f.value)
	}
}

// parseQuery reads a raw query string.
func parseQuery(raw string) query {
	var q query
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

// queryOf collects the fields of a query that the gateway has decoded. The multi-value map holds all values of the names
// that it has at all.
func queryOf(single map[string]string, multi map[string][]string) query {
	var q query
	for name, values := range multi {
		for _, value := range values {
			q.fields = append(q.fields, field{name, value})
		}
	}
	for name, value := range single {
		if len(multi[name]) == 0 {
			q.fields = append(q.fields, field{name, value})
		}
	}
	return q
}
