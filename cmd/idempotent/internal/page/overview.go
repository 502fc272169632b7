package page

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

// mostListed is how many records a list shows. They are the oldest.
const mostListed = 200

// overview shows what is stuck.
func (p *Page) overview(w http.ResponseWriter, r *http.Request) {
	operation := r.URL.Query().Get("operation")
	stuck, err := p.list(r.Context(), operation)
	if err != nil {
		p.failed(w, err)
		return
	}
	p.render(w, http.StatusOK, "overview.html", p.frame("What is stuck", stuck))
}

// overview is what is stuck, by what is to be done.
type overview struct {
	Operation string
	// Total is how many records there are, of which the page shows the oldest.
	Total    int
	Sections []section
}

// section is a list under a heading. N is how many records belong there.
type section struct {
	Name string
	Rows []show.Line
	N    int
}

// list reads what is stuck, the oldest first.
func (p *Page) list(ctx context.Context, operation string) (*overview, error) {
	var all []show.Line
	for found, err := range p.Operator.List(ctx, operate.Query{Operation: operation, NotDue: true}) {
		line, err := show.Listed(found, err)
		if err != nil {
			return nil, err
		}
		all = append(all, line)
	}
	slices.SortFunc(all, show.Older)
	open, givenUp := section{Name: "Somebody has to settle"}, section{Name: "Given up: asked about, without an answer"}
	notDue := section{Name: "Stopped between two steps, not due"}
	for i, r := range all {
		into := &notDue
		switch {
		case r.GivenUp:
			into = &givenUp
		case r.Due:
			into = &open
		}
		if into.N++; i < mostListed {
			into.Rows = append(into.Rows, r)
		}
	}
	some := slices.DeleteFunc([]section{open, givenUp, notDue}, func(s section) bool { return s.N == 0 })
	return &overview{operation, len(all), some}, nil
}
