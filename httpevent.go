package idempotent

import (
	"maps"
	"slices"
	"strings"
)

// httpEvent is what counts of an event, as it was sent. A part that an event does not have is empty.
type httpEvent struct {
	text [textParts]string
	// query and multiQuery are those of a gateway that takes the query apart.
	query      map[string]string
	multiQuery map[string][]string
	headers    headers
	// hasMulti says that the headers were sent in multiValueHeaders.
	hasMulti bool
	body     []byte
	isBase64 bool
	// room is for the headers that most handlers look at.
	room headerRoom
}

// trace is what access logs know a request by.
func (e *httpEvent) trace() string {
	if ids := e.headers.of(traceHeader); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// forwarded reports whether a gateway or a load balancer has passed the request on: it is no event that a test made up.
func (e *httpEvent) forwarded() bool {
	return len(e.headers.of(traceHeader)) > 0 || len(e.headers.of(forwardedHeader)) > 0
}

// part is what a member of an event is to its request.
type part int

// Each family has these parts in other members, see [member].
const (
	partMethod part = iota + 1
	partPath
	partRoute
	partAPI
	partStage
	partRequestID
	partRawQuery
	partDomain
	partDomainPrefix
	// Whom the gateway has established, see [httpEvent.caller].
	partIssuer
	partSubject
	partPrincipal
	partPrincipalNumber // a principal that is no string but an integer, in digits
	partIdentity
	partAccount
	partUser
	partAPIKey
	textParts // the parts before it are texts

	partBody
	partBase64
	partHeaders
	partMultiHeaders
	partQuery
	partMultiQuery
)

// member is where a family has a part: the names from the event inwards, with dots between them.
type member struct {
	path string
	part part
}

// membersOfAll are those that all families have in the same place.
var membersOfAll = []member{
	{"headers", partHeaders},
	{"body", partBody},
	{"isBase64Encoded", partBase64},
}

// headers are those that a handler looks at.
type headers struct {
	// names are in lower case. They belong to the handler.
	names []string
	// values are those of each name, in the order they were sent.
	values [][]string
}

// of returns the values of a header in any spelling, none if it was not sent.
func (h headers) of(name string) []string {
	for i, known := range h.names {
		if strings.EqualFold(known, name) && len(h.values) > 0 {
			return h.values[i]
		}
	}
	return nil
}

// headerRoom is room for a value of a few headers.
type headerRoom struct {
	lists  [8][]string
	values [8]string
}

// headers are none yet.
func (r *headerRoom) headers(names []string) headers {
	if len(names) > len(r.lists) {
		return headers{names: names, values: make([][]string, len(names))}
	}
	for i := range names {
		r.lists[i] = r.values[i : i : i+1]
	}
	return headers{names: names, values: r.lists[:len(names)]}
}

// looksAt are the names of the headers that a handler with this configuration looks at, each once.
func (h HTTP) looksAt() []string {
	names := []string{strings.ToLower(h.Header), mediaHeader, traceHeader, forwardedHeader}
	if h.TimestampHeader != "" {
		names = append(names, strings.ToLower(h.TimestampHeader))
	}
	names = append(names, lowered(h.FingerprintHeaders)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// headersIn picks the headers of these names.
func headersIn(names []string, single map[string]string, multi map[string][]string) headers {
	all := headersOf(single, multi)
	h := headers{names: names, values: make([][]string, len(names))}
	for i, name := range names {
		h.values[i] = all[name]
	}
	return h
}

// headersOf collects the values of each header by lower-cased name. A name in several spellings was sent several times.
// The multi-value map holds all values of the headers that it has at all.
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
