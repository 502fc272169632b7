// Package page is the page of the command serve: what is stuck, a search, one record as a timeline,
// settle and release.
//
// It is for one person on one machine. Whoever is let in can settle records, so [Page.ServeHTTP]
// looks at each request before anything else does: at its Host, at where a browser says that it
// comes from, at the cookie of the session, and, if it changes or discloses something, at its
// origin and at a field of the form that only the page itself knows. See door.go.
//
// It has no script. What a record holds is shown as text, with everything escaped that is no
// printable character.
package page

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/operate"
)

// Config is what a page shows, and for whom. All fields but ReadOnly and Demo are needed.
type Config struct {
	// Operator acts on the records, and Now is its clock.
	Operator *operate.Operator
	Now      func() time.Time
	// Port is the one on which the page is served, on 127.0.0.1.
	Port int
	// Store names where the records are, and By who acts.
	Store, By string
	// Messages are those of an outbox that were given up, nil if the page is not to show them.
	Messages Messages
	// ReadOnly refuses every change. Demo says that the records are those of a demo.
	ReadOnly, Demo bool
	// Sentence says what went wrong, as the command line does.
	Sentence func(error) string
	// Done is told of each change. Wrong is told of what went wrong in the page itself, and of
	// changes of which nobody knows whether they were done.
	Done  func(operate.Entry) error
	Wrong func(error)
}

// Page serves the page. Make it with [New]. It is safe for concurrent use.
type Page struct {
	Config

	door   *door
	routes map[string]route
	// changing is held, as by a reader, while something is changed.
	changing sync.RWMutex
}

// route is what is served under a path.
type route struct {
	get, post func(*http.Request) *answer
	// changes is true if the page does not have it in read-only mode.
	changes bool
}

// New returns a page with secrets of its own.
func New(c Config) *Page {
	p := &Page{Config: c, door: newDoor(c.Port)}
	p.routes = map[string]route{
		"/":          {get: p.overview},
		"/style.css": {get: func(*http.Request) *answer { return &answer{file: styleFile} }},
		"/record":    {get: p.record},
		"/result":    {post: p.result},
		"/search":    {get: p.search},
		"/act":       {get: p.actForm, changes: true},
		"/preview":   {post: p.preview, changes: true},
		"/confirm":   {post: p.confirm, changes: true},
		"/messages":  {get: func(r *http.Request) *answer { return p.messages(r, &given{}) }},
		"/redrive":   {post: p.redrive, changes: true},
	}
	return p
}

// URL is the address that lets somebody in, once.
func (p *Page) URL() string {
	return fmt.Sprintf("http://127.0.0.1:%d/?%s=%s", p.Port, tokenField, p.door.token)
}

// ServeHTTP serves one request.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	defer p.recovered(w)
	var path string
	refused := p.door.outside(r)
	switch {
	case refused != nil:
	case r.URL.Path == "/":
		refused = p.door.enter(w, r)
	default:
		path, refused = p.door.inside(r)
	}
	if refused != nil {
		shut(w, refused)
	} else if path != "" {
		p.render(w, r, p.serve(w, r, path))
	}
}

// serve serves a request of the session.
func (p *Page) serve(w http.ResponseWriter, r *http.Request, path string) *answer {
	if key, is := recordPath(path); is {
		path, r = "/record", r.Clone(r.Context())
		q := r.URL.Query()
		q.Set("key", key)
		r.URL.RawQuery = q.Encode()
	}
	route, found := p.routes[path]
	switch {
	case !found:
		return refuse(http.StatusNotFound, "There is no such page", "Nothing is under this address.")
	case route.changes && p.ReadOnly:
		return refuse(http.StatusForbidden, "Nothing can be changed here", "The page was started with --read-only.")
	case r.Method == http.MethodPost && route.post != nil:
		if refused := p.door.posted(w, r); refused != nil {
			return refused
		}
		return route.post(r)
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && route.get != nil:
		return route.get(r)
	default:
		return refuse(http.StatusMethodNotAllowed, "This is not done so", "Use the forms and links of the page.")
	}
}

// recovered answers a request whose handling has panicked, and tells of it.
func (p *Page) recovered(w http.ResponseWriter) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		p.Wrong(fmt.Errorf("page: panic: %v", v))
		shut(w, refuse(http.StatusInternalServerError, "Something went wrong",
			"It is a mistake of this program. The terminal in which it runs says which."))
	}
}
