package page

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
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

//go:embed templates/*.html
var files embed.FS

//go:embed templates/style.css
var style []byte

// styleFile stands for the style, which is no template.
const styleFile = "style.css"

// templates are all of the page. A text that somebody else may have written goes through t, or
// long, which escape what is no printable character: what somebody wrote into a table of records
// must not turn around what stands beside it.
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
}).ParseFS(files, "templates/*.html"))

func printable(v any) string { return show.Printable(fmt.Sprint(v)) }

func document(v any) string { return show.Document(fmt.Sprint(v)) }

// unfield is what a hidden field holds, whose form field escapes because browsers would change it:
// the ends of lines, for one. It is empty if the field is none of the page.
func unfield(value string) string {
	text, err := url.QueryUnescape(value)
	if err != nil {
		return ""
	}
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

// refuse says why a request was not done.
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

// plainKey is a record key whose parts can stand in a path as they are.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9._-]+#[A-Za-z0-9_-]+$`)

// Record is the address of a record: without a character that has to be escaped, so that it can be
// copied into a ticket, where the key allows that.
func (b base) Record(key string, values ...string) string {
	if plainKey.MatchString(key) {
		return b.Link("/record/"+strings.Replace(key, "#", "/", 1), values...)
	}
	return b.Link("/record", append([]string{"key", key}, values...)...)
}

// recordPath is the key in such an address.
func recordPath(path string) (key string, is bool) {
	rest, is := strings.CutPrefix(path, "/record/")
	key = strings.Replace(rest, "/", "#", 1)
	return key, is && plainKey.MatchString(key)
}

// Ago says how far a time is, and Ahead whether it is still to come.
func (f *frame) Ago(t time.Time) string { return show.Relative(t, f.Made) }

func (f *frame) Ahead(t time.Time) bool { return !store.Reached(t, f.Made) }

// render makes the whole page before anything is sent, so that an error can still be told.
func (p *Page) render(w http.ResponseWriter, r *http.Request, a *answer) {
	var b bytes.Buffer
	switch {
	case a.to != "":
		http.Redirect(w, r, a.to, http.StatusSeeOther) //nolint:gosec // below the page, whatever the key is
	case a.file == styleFile:
		send(w, http.StatusOK, "text/css", style)
	default:
		f := &frame{p.Config, p.door.base, *a, p.door.form, p.Now()}
		if err := templates.ExecuteTemplate(&b, a.file, f); err != nil {
			panic(err) // a mistake in a template
		}
		send(w, a.status, "text/html", b.Bytes())
	}
}

// send answers. Whether anybody gets it is of no matter: it changes nothing.
func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// shut answers who has not been let in, or nothing else can be shown to: without a link, a style or
// a name.
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
	default:
		return refuse(http.StatusBadGateway, "The table did not answer as expected", sentence(p.Sentence(err)))
	}
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

// classes are those of states and moments: as on a terminal red needs somebody, yellow may, green
// is well.
var classes = map[show.Colour]string{show.Red: "needs", show.Yellow: "may", show.Green: "well", show.Faint: "quiet"}
