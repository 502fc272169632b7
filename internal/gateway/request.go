package gateway

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Request is an HTTP request, whichever gateway has passed it on. A handler that changes its event
// does not change it: it shares no map and no slice with it. [Family.Scan] and [Family.Read]
// replace whatever it holds. The zero Request was never read. Do not copy a Request: it keeps
// headers within itself. It is not safe for concurrent use.
type Request struct {
	Method string // in capitals; empty if the event has none
	// Path is the path that the client asked for. Route is the template that the gateway matched,
	// such as /charges/{id}. Route is empty where the gateway has no routes, or where a route says
	// less than the path: $default and greedy ones.
	Path, Route string
	// API and Stage are what the gateway calls itself. The API of a load balancer is its target
	// group.
	API, Stage string
	RequestID  string // the id that the gateway gave the request
	Caller     Caller // whom the gateway has established
	// Refusal says why the event is none of its family, nil if nothing is wrong with it. Such an
	// event decodes into the type of the handler all the same: without a refusal it would run
	// unprotected, or share a scope with others.
	Refusal error

	event    event
	query    query
	prefix   string    // what stands for the stage at the beginning of the path, empty if nothing does
	answerIn headerMap // where the gateway looks for the headers of the answer
}

var errUnread = errors.New("the event is none of a gateway")

// Header returns the values of a request header in the order in which they were sent, nil for one
// that was not sent, or that [FamilyOf] was not told of. name may be in any spelling.
func (r *Request) Header(name string) []string {
	if h := r.event.header(name); h != nil {
		return h.values
	}
	return nil
}

// forwarded reports whether a gateway has passed the request on, and no test has made it up.
func (r *Request) forwarded() bool {
	return len(r.Header(httpfield.TraceID)) > 0 || len(r.Header(httpfield.ForwardedFor)) > 0
}

// HasBody reports whether the request has a body that is not empty. Call it before Forget.
func (r *Request) HasBody() bool { return len(r.event.body) > 0 }

// Forget drops the body, which may be large. Nothing needs it after [Request.Fingerprint].
func (r *Request) Forget() { r.event.body = nil }

type query struct {
	fields []field // decoded; those of one name are in the order in which they were sent
	opaque string  // a query that cannot be decoded, as it was sent
}

type field struct{ name, value string }

func parseQuery(raw string) query {
	q := query{fields: make([]field, 0, 1+strings.Count(raw, "&"))}
	for text := range strings.SplitSeq(raw, "&") {
		if text != "" {
			name, value, _ := strings.Cut(text, "=")
			q.fields = append(q.fields, field{name, value})
		}
	}
	if !q.decode() {
		return query{opaque: raw}
	}
	return q
}

// decode decodes the fields. It reports false if one cannot be decoded. Then the whole query counts
// as it was sent, which the fields are no longer.
func (q *query) decode() bool {
	for i, f := range q.fields {
		name, nameErr := url.QueryUnescape(f.name)
		value, valueErr := url.QueryUnescape(f.value)
		if nameErr != nil || valueErr != nil {
			return false
		}
		q.fields[i] = field{name, value}
	}
	return true
}

// fieldsOf collects those fields that count of a query that the gateway has taken apart, or of
// headers. If a name has values in multi, these are all of them. Names are sorted: different ones
// may become equal when they are decoded, or compared, and then the order of their values must not
// be a matter of chance.
func fieldsOf(single map[string]string, multi map[string][]string, counts func(name string) bool) []field {
	const usual = 8
	fields := make([]field, 0, usual)
	for name, values := range multi {
		for _, value := range values {
			if counts(name) {
				fields = append(fields, field{name, value})
			}
		}
	}
	byName := func(a, b field) int { return strings.Compare(a.name, b.name) }
	slices.SortStableFunc(fields, byName)
	several := len(fields)
	for name, value := range single {
		if len(multi[name]) == 0 && counts(name) {
			fields = append(fields, field{name, value})
		}
	}
	slices.SortFunc(fields[several:], byName)
	return fields
}

// Fingerprint digests method, path, query and body of r, and those headers that count, with h. It
// returns the text of the digest. Ids, times, and headers that differ between deliveries of one
// request have no part in it. headers are in lower case and sorted, because their order counts.
// exact says that the handler tells names apart that differ only in case.
//
// Digests are stored. What is added here, and in which order, must never change.
func (r *Request) Fingerprint(h *fingerprint.Hash, headers []string, exact bool) string {
	h.String("http")
	h.String(r.Method)
	h.String(r.Path)
	h.String(r.query.opaque)
	// The order of names does not count, the order of the values of one name does.
	slices.SortStableFunc(r.query.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	h.String(strconv.Itoa(len(r.query.fields)))
	for _, f := range r.query.fields {
		h.String(f.name)
		h.String(f.value)
	}
	// The body counts by its value, unless a Content-Type header says that it is no JSON. It is
	// kept only as it was decoded: a large one is not there twice.
	e := &r.event
	if e.isBase64 {
		if body, err := base64.StdEncoding.AppendDecode(nil, e.body); err == nil {
			e.body, e.isBase64 = body, false
		}
	}
	other := func(media string) bool { return !httpfield.IsJSON(media) }
	if slices.ContainsFunc(r.Header(httpfield.ContentType), other) {
		digestBytes(h, e.body)
	} else {
		DigestJSON(h, e.body, exact)
	}
	r.digestHeaders(h, headers)
	return h.Text()
}

// Endpoint adds to h what the fingerprint of every request covers, also where the handler selects
// the rest: method and path, and those headers that count.
func (r *Request) Endpoint(h *fingerprint.Hash, headers []string) {
	h.String("endpoint")
	h.String(r.Method)
	h.String(r.Path)
	r.digestHeaders(h, headers)
}

func (r *Request) digestHeaders(h *fingerprint.Hash, headers []string) {
	for _, name := range headers {
		h.String(name)
		values := r.Header(name)
		h.String(strconv.Itoa(len(values))) // tells a missing header from an empty one
		for _, value := range values {
			h.String(value)
		}
	}
}

// DigestJSON adds a text to h: JSON by its value, and any other by its bytes, for the handler to
// refuse it. JSON with names that differ only in case counts by its bytes, too, unless the handler
// is exact: the order of these members decides what a decoder makes of it. A tag says which of the
// two it was, behind the text because nobody knows before.
func DigestJSON(h *fingerprint.Hash, text []byte, exact bool) {
	add := h.JSONFolding
	if exact {
		add = h.JSON
	}
	if add(text) != nil {
		digestBytes(h, text)
		return
	}
	h.String("json")
}

func digestBytes(h *fingerprint.Hash, text []byte) {
	h.Bytes(text)
	h.String("bytes")
}
