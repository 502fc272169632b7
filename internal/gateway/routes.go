package gateway

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// maxRoutes bounds the names of the routes of one handler. Metrics have a time series for each, and
// a client chooses paths.
const maxRoutes = 100

// The names of what has no name of its own.
const (
	anyRoute    = "(any)"
	otherRoute  = "other"
	otherMethod = "(other)"
)

// Routes names the routes of the requests of one handler. Its zero value is ready. It is safe for
// concurrent use.
type Routes struct {
	// Name names a route by the method and the path of a request. It is nil for the template of the
	// gateway.
	Name func(method, path string) string

	mu    sync.Mutex
	known map[string]bool
}

// Of returns the name of the route of a request, empty if it has none. There are at most 100, and
// "other". Where the gateway has no template, the name is never the path: a client chooses that,
// and the method, too.
func (n *Routes) Of(r *Request) (name string) {
	if n.Name != nil {
		if name = n.Name(r.Method, r.Paths()[0]); name == "" {
			return ""
		}
	} else {
		method := r.Method
		if !slices.Contains(methods, method) {
			method = otherMethod
		}
		name = method + " " + cmp.Or(r.Route, anyRoute)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.known[name]:
		return name
	case len(n.known) == maxRoutes:
		return otherRoute
	case n.known == nil:
		n.known = make(map[string]bool)
	}
	n.known[strings.Clone(name)] = true // not the rest of the event
	return name
}

// methods are those of RFC 9110, section 9, and PATCH of RFC 5789.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"}
