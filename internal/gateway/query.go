package gateway

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// query is the query of a request.
type query struct {
	// fields are decoded. Those of one name are in the order in which they were sent.
	fields []field
	// opaque holds a query that cannot be decoded, as it was sent.
	opaque string
}

type field struct{ name, value string }

// parseQuery reads the text of a query. If one field cannot be decoded, the whole text counts as it was sent.
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

// queryOf collects the fields of a query that the gateway has taken apart. If a name has values in multi, these are all of
// them. The result is sorted by name: names that are different here may become equal when they are decoded, and the order of
// their values must not be a matter of chance then.
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

// digest adds the query to a digest. The order of names does not count, the order of the values of one name does.
func (q query) digest(h *fingerprint.Hash) {
	h.String(q.opaque)
	slices.SortStableFunc(q.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	h.String(strconv.Itoa(len(q.fields)))
	for _, f := range q.fields {
		h.String(f.name)
		h.String(f.value)
	}
}
