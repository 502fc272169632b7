package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// mostListed is how many records a list shows. They are the oldest.
const mostListed = 200

// overview shows what is stuck.
func (p *Page) overview(w http.ResponseWriter, r *http.Request) {
	operation := r.URL.Query().Get("operation")
	l, err := p.list(r.Context(), operate.Query{Operation: operation, NotDue: true})
	switch {
	case errors.Is(err, operate.ErrNeedsScan):
		p.fail(w, &refusal{
			http.StatusOK, "There is no index",
			"What is stuck can be found here by reading all of the table only, which “idempotent list --scan” does. " +
				"docs/deploy.md says how to add the index.",
		})
	case err != nil:
		p.failed(w, err)
	default:
		p.render(w, http.StatusOK, "overview.html", p.frame("What is stuck", l.grouped(operation)))
	}
}

// overview is what is stuck, by what is to be done.
type overview struct {
	Operation string
	// Total is how many records there are, of which the page shows the oldest.
	Total int
	// Open are for somebody to settle, GivenUp those that a reconciliation asks about no more,
	// NotDue those for which a retry may yet come.
	Open, GivenUp, NotDue section
}

// section is a list under a heading. N is how many records belong there, of which the page shows
// the oldest.
type section struct {
	Name string
	Rows []row
	N    int
}

// row is a record of a list.
type row struct {
	Key, Operation string
	State          operate.State
	// Reason says in words why it is as it is, What is its name.
	What, Reason string
	// Since is when it began to wait, or was created; Next is when it is asked about next, or
	// becomes due.
	Since, Next time.Time
	Attempt     int
	GivenUp     bool
	// Wrong says what is wrong with a record that cannot be understood.
	Wrong string

	due bool
}

// listed are the records of a list, the oldest first, and how many there are.
type listed struct {
	rows  []row
	total int
}

func (p *Page) list(ctx context.Context, q operate.Query) (l listed, err error) {
	for found, err := range p.Operator.List(ctx, q) {
		r, err := p.rowOf(found, err)
		if err != nil {
			return l, err
		}
		l.rows = append(l.rows, r)
	}
	slices.SortStableFunc(l.rows, func(a, b row) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	l.total = len(l.rows)
	return l, nil
}

// rowOf makes a row of a record, also of one that cannot be understood. Any other error ends the
// list.
func (p *Page) rowOf(found operate.Listed, err error) (row, error) {
	rec := found.Record
	r := row{Key: rec.Key, Operation: rec.Operation(), State: found.State, Attempt: operate.Executions(rec),
		GivenUp: found.GivenUp, due: found.Due}
	if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
		r.State, r.Wrong, r.due = operate.StateOther, unreadable.Reason, true
		return r, nil
	}
	if err != nil {
		return row{}, err
	}
	r.What, r.Reason, r.Since = rec.Reason, show.Reason(rec.Reason), rec.CreatedAt
	if found.State == operate.StateReleased && rec.Attention != "" {
		r.Reason = "it has stopped between two steps"
	}
	switch at := rec.AttentionAt; {
	case at.IsZero():
	case store.Reached(at, p.Now()):
		r.Since = at
	default:
		r.Next = at
	}
	return r, nil
}

func (l listed) grouped(operation string) *overview {
	o := &overview{
		Operation: operation, Total: l.total,
		Open:    section{Name: "Somebody has to settle"},
		GivenUp: section{Name: "Given up: asked about, without an answer"},
		NotDue:  section{Name: "Stopped between two steps, not due"},
	}
	for i, r := range l.rows {
		into := &o.NotDue
		switch {
		case r.GivenUp:
			into = &o.GivenUp
		case r.due:
			into = &o.Open
		}
		if into.N++; i < mostListed {
			into.Rows = append(into.Rows, r)
		}
	}
	return o
}

// Sections are the groups that have records.
func (o *overview) Sections() []section {
	return slices.DeleteFunc([]section{o.Open, o.GivenUp, o.NotDue}, func(s section) bool { return s.N == 0 })
}

// Oldest is since when the first record of a section waits.
func (s section) Oldest() time.Time {
	if len(s.Rows) == 0 {
		return time.Time{}
	}
	return s.Rows[0].Since
}
