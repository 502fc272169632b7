package page

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

//go:embed templates
var files embed.FS

// templates are all of the page. A text that somebody else may have written goes through t, or
// long, which escape what is no printable character: what somebody wrote into a table of records
// must not turn around what stands beside it.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"t":     printable,
	"long":  document,
	"cap":   capital,
	"field": url.QueryEscape,
	"iso":   show.Instant,
	"state": stateClass,
}).ParseFS(files, "templates/*.html"))

func printable(v any) string { return show.Printable(text(v)) }

func document(v any) string { return show.Document(text(v)) }

// unfield is what a hidden field holds, whose form field escapes because browsers would change it:
// the ends of lines, for one. It is empty if the field is none of the page.
func unfield(value string) string {
	text, err := url.QueryUnescape(value)
	if err != nil {
		return ""
	}
	return text
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case *string:
		return *v
	case operate.State:
		return string(v)
	case error:
		return v.Error()
	default:
		panic("page: no text") // only a mistake in a template does that
	}
}

// frame is what every page has around it.
type frame struct {
	Title string
	// Base is the path under which the links are, Form what forms send back.
	Base, Form string
	Store, By  string
	ReadOnly   bool
	Demo       bool
	// Messages is true if there is a page of messages.
	Messages bool
	// Query is in the field of the search. Look is true if there is a record under it that an error
	// page leads to.
	Query string
	Look  bool
	now   time.Time
	// Body is what the page itself shows.
	Body any
}

func (p *Page) frame(title string, body any) *frame {
	return &frame{
		Title: title, Base: p.door.base, Form: p.door.form, Store: p.Store, By: p.By, ReadOnly: p.ReadOnly,
		Demo: p.Demo, Messages: p.Messages != nil,
		now: p.Now(), Body: body,
	}
}

// Link is an address of the page: a path, then names and values.
func (f *frame) Link(path string, values ...string) string {
	query := make(url.Values)
	for i := 0; i+1 < len(values); i += 2 {
		query.Set(values[i], values[i+1])
	}
	if len(query) == 0 {
		return f.Base + path
	}
	return f.Base + path + "?" + query.Encode()
}

// plainKey is a record key whose parts can stand in a path as they are.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9._-]+#[A-Za-z0-9_-]+$`)

// Record is the address of a record: without a character that has to be escaped, so that it can be
// copied into a ticket, where the key allows that.
func (f *frame) Record(key string, values ...string) string {
	if plainKey.MatchString(key) {
		return f.Link("/record/"+strings.Replace(key, "#", "/", 1), values...)
	}
	return f.Link("/record", append([]string{"key", key}, values...)...)
}

// recordPath is the key in such an address.
func recordPath(path string) (key string, is bool) {
	rest, is := strings.CutPrefix(path, "/record/")
	key = strings.Replace(rest, "/", "#", 1)
	return key, is && plainKey.MatchString(key)
}

// With is the frame around something else.
func (f *frame) With(body any) *frame {
	g := *f
	g.Body = body
	return &g
}

// Now is when the page was made.
func (f *frame) Now() time.Time { return f.now }

// Ago says how far a time is.
func (f *frame) Ago(t time.Time) string { return show.Relative(t, f.now) }

// render makes the whole page before anything is sent, so that an error can still be told.
func (p *Page) render(w http.ResponseWriter, status int, name string, f *frame) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, f); err != nil {
		panic(err) // a mistake in a template
	}
	send(w, status, "text/html; charset=utf-8", b.Bytes())
}

// send answers. Whether anybody gets it is of no matter: it changes nothing.
func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// shut answers who has not been let in, or nothing else can be shown to: without a link, a style or
// a name.
func (p *Page) shut(w http.ResponseWriter, refused *refusal) {
	p.render(w, refused.status, "shut.html", &frame{Title: refused.title, Body: refused.text})
}

// fail shows why a request was not done.
func (p *Page) fail(w http.ResponseWriter, refused *refusal) {
	p.render(w, refused.status, "error.html", p.frame(refused.title, refused.text))
}

// failed shows an error.
func (p *Page) failed(w http.ResponseWriter, err error) {
	p.fail(w, p.refusalOf(err))
}

// refusalOf says what went wrong to somebody who does not know the code.
func (p *Page) refusalOf(err error) *refusal {
	switch {
	case errors.Is(err, operate.ErrNotFound):
		return &refusal{
			http.StatusNotFound, "There is no such record",
			"There is no record under this key: it was never written, or has expired and was deleted. A record key " +
				"is <operation>#<digest>, as it is in logs and metrics.",
		}
	case errors.Is(err, operate.ErrOutcomeUnknown):
		return &refusal{http.StatusBadGateway, "Nobody knows whether it was done", sentence(p.Sentence(err))}
	case errors.Is(err, operate.ErrInput):
		return &refusal{http.StatusUnprocessableEntity, "This cannot be right", sentence(p.problem(err))}
	case errors.Is(err, operate.ErrLive), errors.Is(err, operate.ErrState), errors.Is(err, operate.ErrStep),
		errors.Is(err, operate.ErrForeign):
		return &refusal{http.StatusConflict, "Refused", sentence(p.problem(err))}
	case isStore(err):
		return &refusal{http.StatusBadGateway, "The table did not answer as expected", sentence(p.Sentence(err))}
	default:
		return &refusal{http.StatusInternalServerError, "It did not work", sentence(p.Sentence(err))}
	}
}

// problem says what is wrong with what was asked, in the words of the form.
func (p *Page) problem(err error) string {
	if input, ok := errors.AsType[*operate.InputError](err); ok {
		label := map[string]string{"by": "“Who”", "why": "“Why”", "result": "The result",
			"error type": "The type of the error"}[input.Field]
		if label == "" {
			label = input.Field
		}
		return label + " " + input.Problem
	}
	return strings.TrimPrefix(err.Error(), "operate: ")
}

func isStore(err error) bool {
	_, ok := errors.AsType[*store.Error](err)
	return ok
}

// sentence begins a text with a capital and ends it with a full stop.
func sentence(text string) string { return capital(strings.TrimSuffix(text, ".")) + "." }

// capital begins a text with a capital.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// The classes of moments and states.
const (
	needs = "needs"
	may   = "may"
	well  = "well"
	quiet = "quiet"
)

// stateClass is the class of a state: as on a terminal red needs somebody, yellow may, green is
// well.
func stateClass(s operate.State) string {
	return map[show.Colour]string{show.Red: needs, show.Yellow: may, show.Green: well,
		show.Faint: quiet}[show.StateColour(s)]
}

func serveStyle(w http.ResponseWriter, _ *http.Request) {
	style, err := files.ReadFile("templates/style.css")
	if err != nil {
		panic(err) // it is embedded
	}
	send(w, http.StatusOK, "text/css; charset=utf-8", style)
}
