package page

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
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
		p.render(w, http.StatusOK, "overview.html", p.frame("What is stuck", grouped(l, operation)))
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
	Rows []show.Line
	N    int
}

// list reads what is stuck, the oldest first.
func (p *Page) list(ctx context.Context, q operate.Query) (all []show.Line, err error) {
	for found, err := range p.Operator.List(ctx, q) {
		line, err := show.Listed(found, err)
		if err != nil {
			return nil, err
		}
		all = append(all, line)
	}
	slices.SortFunc(all, show.Older)
	return all, nil
}

func grouped(all []show.Line, operation string) *overview {
	o := &overview{
		Operation: operation, Total: len(all),
		Open:    section{Name: "Somebody has to settle"},
		GivenUp: section{Name: "Given up: asked about, without an answer"},
		NotDue:  section{Name: "Stopped between two steps, not due"},
	}
	for i, r := range all {
		into := &o.NotDue
		switch {
		case r.GivenUp:
			into = &o.GivenUp
		case r.Due:
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
