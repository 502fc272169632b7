package idempotent

import (
	"maps"
	"strings"
)

// httpRequest is what the event families have in common.
type httpRequest struct {
	// method is in capitals. It is empty if the event is none of the family.
	method string
	// path is the concrete path; route the template that the gateway matched, empty if it matched none that says more.
	path, route string
	api, stage  string
	requestID   string
	query       query
	// headers are by lower-cased name.
	headers  map[string][]string
	body     string
	isBase64 bool
	caller   caller
}

// httpResponse is what the response families have in common. Its maps and slices belong to the handler's response:
// they are replaced, never modified.
type httpResponse struct {
	status  int
	headers map[string]string
	multi   map[string][]string
	cookies []string
	body    string
}

// headersOf collects the values of each header by lower-cased name. A name in several spellings was sent several times.
// The multi-value map holds all values of the headers that it has at all.
func headersOf(single map[string]string, multi map[string][]string) map[string][]string {
	all := make(map[string][]string, max(len(single), len(multi)))
	for name, values := range multi {
		name = strings.ToLower(name)
		all[name] = append(all[name], values...)
	}
	others := make(map[string][]string)
	for name, value := range single {
		if name = strings.ToLower(name); len(all[name]) == 0 {
			others[name] = append(others[name], value)
		}
	}
	maps.Copy(all, others)
	return all
}
