package gateway

import (
	"maps"
	"slices"
	"strings"
)

// headers are the request headers that a handler looks at.
type headers struct {
	// names are in lower case. They belong to the family and are never modified.
	names []string
	// values has the values of each name, in the order in which they were sent.
	values [][]string
}

// of returns the values of a header in any spelling. It returns none if the header was not sent or is not one of names.
func (h headers) of(name string) []string {
	for i, known := range h.names {
		if strings.EqualFold(known, name) && len(h.values) > 0 {
			return h.values[i]
		}
	}
	return nil
}

// headerRoom has memory for one value of each of a few headers. It lives in the event, so a request of a usual handler
// needs no other memory for its headers.
type headerRoom struct {
	lists  [8][]string
	values [8]string
}

// headers returns headers of these names, without values yet.
func (r *headerRoom) headers(names []string) headers {
	if len(names) > len(r.lists) {
		return headers{names: names, values: make([][]string, len(names))}
	}
	for i := range names {
		r.lists[i] = r.values[i : i : i+1]
	}
	return headers{names: names, values: r.lists[:len(names)]}
}

// headersIn picks the headers of these names from the maps of a decoded event.
func headersIn(names []string, single map[string]string, multi map[string][]string) headers {
	all := headersOf(single, multi)
	h := headers{names: names, values: make([][]string, len(names))}
	for i, name := range names {
		h.values[i] = all[name]
	}
	return h
}

// headersOf collects the values of each header under its name in lower case. A header that is there in several spellings was
// sent several times. If a header has values in multi, these are all of them, and its value in single is one of them.
func headersOf(single map[string]string, multi map[string][]string) map[string][]string {
	all := make(map[string][]string, max(len(single), len(multi)))
	for _, name := range slices.Sorted(maps.Keys(multi)) {
		lower := strings.ToLower(name)
		all[lower] = append(all[lower], multi[name]...)
	}
	others := make(map[string][]string)
	for _, name := range slices.Sorted(maps.Keys(single)) {
		if lower := strings.ToLower(name); len(all[lower]) == 0 {
			others[lower] = append(others[lower], single[name])
		}
	}
	maps.Copy(all, others)
	return all
}
