package gateway

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
)

// maxRoutes bounds the names of the routes of one handler. Metrics have a time series for each, and
// a client chooses paths.
const maxRoutes = 100

// Routes names the routes of one handler. Its zero value is ready. It is safe for concurrent use.
type Routes struct {
	// Name names a route by the method and the path of a request, nil for the gateway's template.
	Name func(method, path string) string

	mu    sync.Mutex
	known map[string]bool
}

// Of returns the name of the route of a request, empty if it has none. There are at most 100, and
// "other". What a client chooses is no name: neither a path without a template, nor any method.
func (n *Routes) Of(r *Request) (name string) {
	if n.Name != nil {
		if name = n.Name(r.Method, r.Paths()[0]); name == "" {
			return ""
		}
	} else {
		method := r.Method
		if !slices.Contains(methods, method) {
			method = "(other)"
		}
		name = method + " " + cmp.Or(r.Route, "(any)")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.known[name]:
		return name
	case len(n.known) == maxRoutes:
		return "other"
	case n.known == nil:
		n.known = make(map[string]bool)
	}
	n.known[strings.Clone(name)] = true // not the rest of the event
	return name
}

// methods are those of RFC 9110, section 9, and PATCH of RFC 5789.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"}

// Paths returns the paths that a router behind the gateway may take for that of the request. The
// first one is what most routers match: the path of the event, without the stage of an HTTP API,
// and decoded once, because adapters parse it as part of a URL. Nearly always it is the only one.
// An unusual spelling has other readings besides, each without the stage:
//
//   - the cleaned path, if it has dot segments, several slashes in a row, or a slash at its end:
//     many routers redirect there
//   - the path as it was sent, and decoded but for its encoded slashes, if it is not encoded as
//     [url.URL.EscapedPath] would do it: http.ServeMux decodes segment by segment, and others match
//     what is encoded. This includes a path that does not decode
//   - the path up to a question mark or number sign, where an adapter sees the end of it. HTTP APIs
//     send paths that are decoded already
func (r *Request) Paths() []string {
	sent := cmp.Or(r.Path, "/")
	all := r.readings(nil, sent)
	if end := strings.IndexAny(sent, "?#"); end >= 0 {
		all = r.readings(all, sent[:end])
	}
	return all
}

func (r *Request) readings(all []string, sent string) []string {
	decoded := unescape(sent, true)
	all = r.cleaned(all, decoded)
	if decoded == sent || (&url.URL{Path: decoded}).EscapedPath() == sent {
		return all
	}
	return r.cleaned(r.cleaned(all, sent), unescape(sent, false))
}

// cleaned adds a path to all, and what is left of it if it is cleaned.
func (r *Request) cleaned(all []string, p string) []string {
	bare := r.withoutStage(p)
	for _, reading := range []string{bare, path.Clean("/" + bare), r.withoutStage(path.Clean("/" + p))} {
		if !slices.Contains(all, reading) {
			all = append(all, reading)
		}
	}
	return all
}

// withoutStage takes the stage off the beginning of a path, if the gateway has put it there.
func (r *Request) withoutStage(p string) string {
	rest, found := strings.CutPrefix(p, r.prefix)
	if r.prefix == "" || !found || rest != "" && rest[0] != '/' {
		return p
	}
	return cmp.Or(rest, "/")
}

// unescape decodes what is percent-encoded in a path, slashes only if asked to. What is no valid
// escape stays as it is.
func unescape(p string, slashes bool) string {
	plain, rest, found := strings.Cut(p, "%")
	decoded := []byte(plain)
	for found {
		plain, rest, found = strings.Cut(rest, "%")
		escape := "%" + plain[:min(2, len(plain))]
		one, err := url.PathUnescape(escape)
		if err != nil || one == "/" && !slashes {
			one = escape
		}
		decoded = append(append(decoded, one...), plain[len(escape)-1:]...)
	}
	return string(decoded)
}
