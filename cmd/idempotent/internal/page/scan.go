package page

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// The bounds of a scan.
const (
	// scanRate is how many read units a second it takes.
	scanRate = 500
	// scanRows is how many records it shows.
	scanRows = 1000
)

// scanning is what a scan asks for, and what it would read.
type scanning struct {
	State, Operation string
	States           []string
	// Told is what it reads.
	Told string
}

// scanForm says what a scan would read. Nothing but a scan finds records that are lapsed.
func (p *Page) scanForm(w http.ResponseWriter, r *http.Request) {
	s := &scanning{State: string(operate.StateLapsed), Operation: r.URL.Query().Get("operation"), States: stateNames()}
	if state := r.URL.Query().Get("state"); slices.Contains(s.States, state) {
		s.State = state
	}
	cost, err := p.Operator.Cost(r.Context(), s.query(nil))
	switch failed, isStore := errors.AsType[*store.Error](err); {
	case err == nil:
		s.Told = told(cost)
	case isStore && failed.Kind == store.FailureAccessDenied:
		s.Told = "How much this reads cannot be told: dynamodb:DescribeTable is not allowed."
	default:
		p.failed(w, err)
		return
	}
	p.render(w, http.StatusOK, "scan.html", p.frame("Read the whole table", s))
}

func stateNames() []string {
	states := operate.States()
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return names
}

func (s *scanning) query(page func(store.Page)) operate.Query {
	return operate.Query{States: []operate.State{operate.State(s.State)}, Operation: s.Operation, Scan: true, Rate: scanRate, Page: page}
}

// told is what a scan reads, in words.
func told(c store.Cost) string {
	about, old := "", ""
	if !c.Exact {
		about, old = "about ", ", by a count that may be six hours old"
	}
	text := fmt.Sprintf("It reads %s%d records", about, c.Records)
	if c.Units > 0 {
		text += fmt.Sprintf(" in %d pages, %s read units", c.Pages, strconv.FormatFloat(c.Units, 'f', -1, 64))
		if d := time.Duration(c.Units / scanRate * float64(time.Second)); d >= time.Second {
			text += fmt.Sprintf(", in %s", d.Truncate(time.Second))
		}
	}
	return text + old + "."
}

// scan reads the whole table and shows what it finds as it finds it. It ends with the page: who closes that ends it.
func (p *Page) scan(w http.ResponseWriter, r *http.Request) {
	s := &scanning{State: r.PostForm.Get("state"), Operation: r.PostForm.Get("operation"), States: stateNames()}
	switch {
	case !slices.Contains(s.States, s.State):
		p.fail(w, &refusal{http.StatusUnprocessableEntity, "Which records?", "Choose a state."})
		return
	case r.PostForm.Get("agreed") == "":
		p.fail(w, &refusal{http.StatusUnprocessableEntity, "Nobody has agreed", "Reading the whole table costs what the page before says: tick that you agree."})
		return
	case !p.scanning.TryLock():
		p.fail(w, &refusal{http.StatusConflict, "A scan is running", "One at a time: stop the other one, or wait for it."})
		return
	}
	defer p.scanning.Unlock()
	p.stream(w, r, s)
}

// sum is how a scan has ended.
type sum struct {
	Found, Read int
	Cut         bool
	// Failed says why it did not come to its end.
	Failed string
}

// stream sends rows as they are found.
func (p *Page) stream(w http.ResponseWriter, r *http.Request, s *scanning) {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // a writer that has none needs none
	var end sum
	send := func(name string, body any) bool {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, name, p.frame("Records that are "+s.State, body)); err != nil {
			panic(err) // a mistake in a template
		}
		_, err := w.Write(b.Bytes())
		return errors.Join(err, control.Flush()) == nil
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if !send("scan-begin", s) {
		return
	}
	q := s.query(func(page store.Page) { end.Read += page.Records })
	for found, err := range p.Operator.List(r.Context(), q) {
		row, err := p.rowOf(found, err)
		if err != nil {
			end.Failed = sentence(p.Words.Error(err))
			break
		}
		if end.Found == scanRows {
			end.Cut = true
			break
		}
		end.Found++
		if !send("row", row) {
			return
		}
	}
	send("scan-end", end)
}
