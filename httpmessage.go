package idempotent

import (
	"maps"
	"slices"
	"strings"
)

// httpRequest is what the event families have in common.
type httpRequest struct {
	event httpEvent
	// refusal is why the event is none of the family, although it has a method.
	refusal error
	// method is in capitals. It is empty if the event is none of the family.
	method string
	// path is the concrete path; route the template that the gateway matched, empty if it matched none that says more.
	path, route string
	api, stage  string
	requestID   string
	query       query
	caller      caller
	form        headerForm
	// protected is the request as the protocol knows it.
	protected request
}

// traceHeader is what API Gateway and load balancers add to every request, or extend, whatever the client sends.
const traceHeader = "x-amzn-trace-id"

// Other headers that mean something here.
const (
	forwardedHeader  = "x-forwarded-for"
	mediaHeader      = "content-type"
	dateHeader       = "date"
	connectionHeader = "connection"
)

// connectionHeaders belong to one connection (RFC 9110, section 7.6.1).
var connectionHeaders = []string{
	connectionHeader, "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding",
	"upgrade",
}

// otherHeaders are those that clients, caches and gateways read or set themselves.
var otherHeaders = []string{
	"accept", "authorization", "cache-control", "content-encoding", "content-length", mediaHeader, "cookie", dateHeader, "etag", "expires",
	"forwarded", "host", "location", "origin", "referer", "retry-after", "server", "set-cookie", "user-agent", "vary", "via",
	"www-authenticate", "x-api-key", traceHeader, forwardedHeader,
}

// hasMeaning reports whether a header means something else already, so that it carries neither a key nor an expiry.
func hasMeaning(name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains(connectionHeaders, lower) || slices.Contains(otherHeaders, lower) ||
		strings.EqualFold(name, replayedHeader)
}

// headerForm says which map of a response the gateway reads. Zero means both: a REST API merges them; an HTTP API and a
// function URL know headers alone. There, what is added to headers arrives if the other map does not have it too.
type headerForm int

// A load balancer reads the map in whose form it sent the request, and ignores the other.
const (
	readsHeaders headerForm = iota + 1
	readsMulti
)

// httpResponse is what the response families have in common. Its maps and slices belong to the handler's response:
// they are replaced, never modified.
type httpResponse struct {
	status  int
	headers map[string]string
	multi   map[string][]string
	cookies []string
	body    string
}

// adding returns r with more headers, in the form that the gateway reads. r has nothing else under their names, in either
// form. A response in the form that the gateway does not read, stored when it did, is brought into the other.
func (r httpResponse) adding(headers map[string]string, form headerForm) httpResponse {
	if form == readsMulti {
		own := r.multi
		if len(own) == 0 {
			own = multiOf(r.headers)
		}
		r.multi = multiOf(headers)
		maps.Copy(r.multi, own)
		return r
	}
	own := r.headers
	if form == readsHeaders && len(own) == 0 {
		own = singleOf(r.multi)
	}
	r.headers = maps.Clone(headers)
	maps.Copy(r.headers, own)
	return r
}

func multiOf(single map[string]string) map[string][]string {
	multi := make(map[string][]string, len(single))
	for name, value := range single {
		multi[name] = []string{value}
	}
	return multi
}

// singleOf joins the values of a header (RFC 9110, section 5.3). Of cookies, which cannot be joined, it keeps the last.
func singleOf(multi map[string][]string) map[string]string {
	single := make(map[string]string, len(multi))
	for name, values := range multi {
		switch {
		case len(values) == 0:
		case strings.EqualFold(name, "set-cookie"):
			single[name] = values[len(values)-1]
		default:
			single[name] = strings.Join(values, ", ")
		}
	}
	return single
}
