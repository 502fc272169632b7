package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// mostListed is how many records a list shows. The reading stops there, too.
const mostListed = 200

// overview shows what is stuck.
func (p *Page) overview(w http.ResponseWriter, r *http.Request) {
	operation := r.URL.Query().Get("operation")
	l, err := p.list(r.Context(), operate.Query{Operation: operation, NotDue: true})
	if errors.Is(err, operate.ErrNeedsScan) {
		p.render(w, http.StatusOK, "noindex.html", p.frame("What is stuck", nil))
		return
	}
	if err != nil {
		p.failed(w, err)
		return
	}
	p.render(w, http.StatusOK, "overview.html", p.frame("What is stuck", &overview{
		Operation: operation, Cut: l.cut, groups: l.grouped(),
	}))
}

// overview is what is stuck, in groups.
type overview struct {
	Operation string
	// Cut is true if there are more than the page has read.
	Cut bool

	groups
}

// groups are the records of a list by what is to be done.
type groups struct {
	// Open are for somebody to settle, Parked those that a reconciliation has given up, NotDue those for which a retry may yet come.
	Open, Parked, NotDue section
}

// section is a list under a heading.
type section struct {
	Name string
	Rows []row
}

// row is a record of a list.
type row struct {
	Key, Operation string
	State          operate.State
	// Reason says in words why it is as it is, What is its name.
	What, Reason string
	// Since is when it began to wait, or was created; Next is when it is asked about next, or becomes due.
	Since, Next time.Time
	Attempt     int
	Parked      bool
	// Wrong says what is wrong with a record that cannot be understood.
	Wrong string

	due bool
}

// listed is what was read.
type listed struct {
	rows []row
	cut  bool
}

func (p *Page) list(ctx context.Context, q operate.Query) (listed, error) {
	var l listed
	for found, err := range p.Operator.List(ctx, q) {
		if len(l.rows) == mostListed {
			l.cut = true
			break
		}
		r, err := p.rowOf(found, err)
		if err != nil {
			return l, err
		}
		l.rows = append(l.rows, r)
	}
	slices.SortStableFunc(l.rows, func(a, b row) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	return l, nil
}

// rowOf makes a row of a record, also of one that cannot be understood. Any other error ends the list.
func (p *Page) rowOf(found operate.Listed, err error) (row, error) {
	rec := found.Record
	r := row{Key: rec.Key, Operation: rec.Operation(), State: found.State, Attempt: rec.Attempt, Parked: found.Parked, due: found.Due}
	if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
		r.State, r.Wrong, r.due = operate.StateOther, unreadable.Reason, true
		return r, nil
	}
	if err != nil {
		return row{}, err
	}
	r.What, r.Reason, r.Since = rec.Reason, p.Words.Reason(rec.Reason), rec.CreatedAt
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

func (l listed) grouped() groups {
	g := groups{
		Open:   section{Name: "Somebody has to settle"},
		Parked: section{Name: "Parked: asked in vain, and given up"},
		NotDue: section{Name: "Stopped between two steps, not due"},
	}
	for _, r := range l.rows {
		into := &g.NotDue
		switch {
		case r.Parked:
			into = &g.Parked
		case r.due:
			into = &g.Open
		}
		into.Rows = append(into.Rows, r)
	}
	return g
}

// Sections are the groups that have records.
func (g groups) Sections() []section {
	return slices.DeleteFunc([]section{g.Open, g.Parked, g.NotDue}, func(s section) bool { return len(s.Rows) == 0 })
}

// Oldest is since when the first record of a section waits.
func (s section) Oldest() time.Time {
	if len(s.Rows) == 0 {
		return time.Time{}
	}
	return s.Rows[0].Since
}
