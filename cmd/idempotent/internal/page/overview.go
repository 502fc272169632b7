package page

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
)

// mostListed is how many records a list shows. They are the oldest.
const mostListed = 200

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

func (p *Page) overview(r *http.Request) *answer {
	operation := r.URL.Query().Get("operation")
	all, err := show.List(r.Context(), p.Operator, operate.Query{Operation: operation, NotDue: true})
	if err != nil {
		return p.failed(err)
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
	return answered(http.StatusOK, "overview.html", "What is stuck", "", &overview{operation, len(all), some})
}

// given are messages, and what came of a redrive.
type given struct {
	Rows     []outbox.GivenUpMessage
	Total    int
	Redriven int
	Changed  int
}

func (p *Page) messages(r *http.Request, g *given) *answer {
	if p.Messages == nil {
		return refuse(http.StatusNotFound, "There is no outbox",
			"Start the page with OUTBOX_TABLE to see messages that were given up.")
	}
	all, err := p.Messages(r.Context())
	if err != nil {
		return p.failed(err)
	}
	g.Rows, g.Total = all[:min(len(all), mostListed)], len(all)
	return answered(http.StatusOK, "messages.html", "Messages that were given up", "", g)
}

// redrive lets the messages that were chosen be delivered again, unless they have changed.
func (p *Page) redrive(r *http.Request) *answer {
	why := strings.TrimSpace(r.PostForm.Get("why"))
	if p.Messages == nil || why == "" || len(r.PostForm["id"]) == 0 {
		return refuse(http.StatusUnprocessableEntity, "This cannot be right",
			"Choose messages, and say why, so nothing was done.")
	}
	all, err := p.Messages(r.Context())
	if err != nil {
		return p.failed(err)
	}
	ctx, end := p.unhurried(r.Context())
	defer end()
	g := &given{}
	for _, id := range r.PostForm["id"] {
		i := slices.IndexFunc(all, func(m outbox.GivenUpMessage) bool { return m.ID == unfield(id) })
		err := outbox.ErrNotGivenUp
		if i >= 0 {
			err = p.Redrive(ctx, all[i], p.By, why)
		}
		switch {
		case err == nil:
			g.Redriven++
		case errors.Is(err, outbox.ErrNotGivenUp):
			g.Changed++
		default:
			return p.failed(err)
		}
	}
	return p.messages(r, g)
}
