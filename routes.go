package idempotent

import (
	"slices"
	"strings"
	"sync"

	"github.com/go-idempotent/idempotent/internal/gateway"
)

// maxRoutes bounds the names of the routes of one handler. Metrics have a time series for each, and a client chooses paths.
const maxRoutes = 100

// The names of what has no name of its own.
const (
	anyRoute    = "(any)"
	otherRoute  = "other"
	otherMethod = "(other)"
)

// routes names the routes of the requests of one handler. It is safe for concurrent use.
type routes struct {
	name func(method, path string) string // nil for the template of the gateway

	mu    sync.Mutex
	known map[route]string
}

// route is a method and a template, or a name that the user's function has given.
type route struct{ method, name string }

// of returns the name of the route of a request, empty if it has none. There are at most 100, and "other".
func (n *routes) of(r *gateway.Request) string {
	var of route
	if n.name != nil {
		if of.name = n.name(r.Method, r.Paths()[0]); of.name == "" {
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

// templateOf is the route by the template of the gateway. Where there is none, it is never the path: a client chooses that, and the
// method, too.
func templateOf(r *gateway.Request) route {
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

// protects reports whether the user's function wants a request protected: one of the paths that a router may take for its path is
// enough, so that nobody gets around the protection by spelling a path in another way.
func (h HTTP) protects(r *gateway.Request) bool {
	return h.Protect == nil || slices.ContainsFunc(r.Paths(), func(path string) bool { return h.Protect(r.Method, path) })
}
