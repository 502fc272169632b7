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
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
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
	// Messages reads those of an outbox that were given up, and Redrive lets one be delivered
	// again, if it is still as it was read. Both are nil if the page is not to show them.
	Messages func(context.Context) ([]outbox.GivenUpMessage, error)
	Redrive  func(ctx context.Context, m outbox.GivenUpMessage, by, why string) error
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
		"/style.css": {get: func(*http.Request) *answer { return &answer{status: http.StatusOK, file: "style.css"} }},
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
	}
	return refuse(http.StatusMethodNotAllowed, "This is not done so", "Use the forms and links of the page.")
}

// recovered answers a request whose handling has panicked, and tells of it.
func (p *Page) recovered(w http.ResponseWriter) {
	if v := recover(); v != nil {
		p.Wrong(fmt.Errorf("page: panic: %v", v))
		shut(w, refuse(http.StatusInternalServerError, "Something went wrong",
			"It is a mistake of this program. The terminal in which it runs says which."))
	}
}

//go:embed templates
var files embed.FS

// templates are all of the page, its style included. A text that somebody else may have written
// goes through t, or long, which escape what is no printable character: what somebody wrote into a
// table of records must not turn around what stands beside it.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"t":     printable,
	"long":  document,
	"cap":   capital,
	"field": url.QueryEscape,
	"iso":   show.Instant,
	"state": func(s operate.State) string { return classes[show.StateColour(s)] },
	"class": func(c show.Colour) string { return classes[c] },
	"step":  show.StepMeaning,
	"has":   show.HasResult,
}).ParseFS(files, "templates/*"))

func printable(v any) string { return show.Printable(fmt.Sprint(v)) }
func document(v any) string  { return show.Document(fmt.Sprint(v)) }

// unfield is what a hidden field holds, whose form field escapes because browsers would change it:
// the ends of lines, for one. It is empty if the field is none of the page.
func unfield(value string) string {
	text, _ := url.QueryUnescape(value)
	return text
}

// answer is what a request gets: a page, or another address.
type answer struct {
	status int
	// file is the template, to the other address.
	file, to string
	// Text is all that an error page says. Query is in the field of the search; Look is true if
	// there is a record under it that an error page leads to.
	Title, Text, Query string
	Look               bool
	// Body is what the page itself shows.
	Body any
}

func answered(status int, file, title, query string, body any) *answer {
	return &answer{status: status, file: file, Title: title, Query: query, Body: body}
}

func refuse(status int, title, text string) *answer {
	return &answer{status: status, file: "error.html", Title: title, Text: text}
}

// frame is what every page has around it. Form is what forms send back.
type frame struct {
	Config
	base
	answer

	Form string
	Made time.Time
}

// base is the path under which the pages are.
type base string

// Link is an address of the page: a path, then names and values.
func (b base) Link(path string, values ...string) string {
	query := make(url.Values)
	for i := 0; i+1 < len(values); i += 2 {
		query.Set(values[i], values[i+1])
	}
	return strings.TrimSuffix(string(b)+path+"?"+query.Encode(), "?")
}

// Record is the address of a record.
func (b base) Record(key string, values ...string) string {
	return b.Link("/record", append([]string{"key", key}, values...)...)
}

// Ago says how far a time is, and Ahead whether it is still to come.
func (f *frame) Ago(t time.Time) string { return show.Relative(t, f.Made) }

func (f *frame) Ahead(t time.Time) bool { return !store.Reached(t, f.Made) }

// render makes the whole page before anything is sent, so that an error can still be told.
func (p *Page) render(w http.ResponseWriter, r *http.Request, a *answer) {
	if a.to != "" {
		http.Redirect(w, r, a.to, http.StatusSeeOther) //nolint:gosec // below the page, whatever the key is
		return
	}
	var b bytes.Buffer
	f := &frame{p.Config, p.door.base, *a, p.door.form, p.Now()}
	if err := templates.ExecuteTemplate(&b, a.file, f); err != nil {
		panic(err) // a mistake in a template
	}
	send(w, a.status, "text/"+strings.TrimPrefix(path.Ext(a.file), "."), b.Bytes())
}

// send answers. Whether anybody gets it is of no matter: it changes nothing.
func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// shut answers who has not been let in, or can be shown nothing else: without a link or a style.
func shut(w http.ResponseWriter, refused *answer) {
	send(w, refused.status, "text/plain", []byte(refused.Title+"\n\n"+refused.Text+"\n"))
}

// failed says what went wrong to somebody who does not know the code.
func (p *Page) failed(err error) *answer {
	switch {
	case errors.Is(err, operate.ErrNotFound):
		return refuse(http.StatusNotFound, "There is no such record",
			"There is no record under this key: it was never written, or has expired and was deleted. A record key "+
				"is <operation>#<digest>, as it is in logs and metrics.")
	case errors.Is(err, operate.ErrNeedsScan):
		return refuse(http.StatusOK, "There is no index",
			"What is stuck can be found here by reading all of the table only, which “idempotent list --scan” does. "+
				"docs/deploy.md says how to add the index.")
	case errors.Is(err, operate.ErrOutcomeUnknown):
		return refuse(http.StatusBadGateway, "Nobody knows whether it was done", sentence(p.Sentence(err)))
	case errors.Is(err, operate.ErrInput):
		return refuse(http.StatusUnprocessableEntity, "This cannot be right",
			sentence(strings.TrimPrefix(err.Error(), "operate: ")))
	case errors.Is(err, operate.ErrLive), errors.Is(err, operate.ErrState), errors.Is(err, operate.ErrStep),
		errors.Is(err, operate.ErrForeign):
		return refuse(http.StatusConflict, "Refused", sentence(strings.TrimPrefix(err.Error(), "operate: ")))
	}
	return refuse(http.StatusBadGateway, "The table did not answer as expected", sentence(p.Sentence(err)))
}

// sentence begins a text with a capital and ends it with a full stop.
func sentence(text string) string { return capital(strings.TrimSuffix(text, ".")) + "." }

func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// classes are those of states and moments, by their colours on a terminal.
var classes = map[show.Colour]string{show.Red: "needs", show.Yellow: "may", show.Green: "well", show.Faint: "quiet"}
