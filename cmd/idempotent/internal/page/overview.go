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
func (p *Page) overview(r *http.Request) *answer {
	stuck, err := p.list(r.Context(), r.URL.Query().Get("operation"))
	if err != nil {
		return p.failed(err)
	}
	return answered(http.StatusOK, "overview.html", "What is stuck", "", stuck)
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
	all, err := show.List(ctx, p.Operator, operate.Query{Operation: operation, NotDue: true})
	if err != nil {
		return nil, err
	}
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
