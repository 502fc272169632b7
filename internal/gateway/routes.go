package gateway

import (
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
	known map[route]string
}

// route is a method and a template, or a name that the user's function has given.
type route struct{ method, name string }

// Of returns the name of the route of a request, empty if it has none. There are at most 100, and
// "other".
func (n *Routes) Of(r *Request) string {
	var of route
	if n.Name != nil {
		if of.name = n.Name(r.Method, r.Paths()[0]); of.name == "" {
			return ""
		}
	} else {
		of = templateOf(r)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok := n.known[of]
	switch {
	case ok:
		return name
	case len(n.known) == maxRoutes:
		return otherRoute
	}
	if n.known == nil {
		n.known = make(map[route]string)
	}
	of.method, of.name = strings.Clone(of.method), strings.Clone(of.name) // not the rest of the event
	name = of.name
	if of.method != "" {
		name = of.method + " " + of.name
	}
	n.known[of] = name
	return name
}

// templateOf is the route by the template of the gateway. Where there is none, it is never the
// path: a client chooses that, and the method, too.
func templateOf(r *Request) route {
	of := route{method: r.Method, name: r.Route}
	if !slices.Contains(methods, of.method) {
		of.method = otherMethod
	}
	if of.name == "" {
		of.name = anyRoute
	}
	return of
}

// methods are those of RFC 9110, section 9, and PATCH of RFC 5789.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"}
