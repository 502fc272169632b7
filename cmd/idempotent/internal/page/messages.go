package page

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/outbox"
)

// Messages are those of an outbox that were given up.
type Messages interface {
	List(ctx context.Context) ([]outbox.GivenUpMessage, error)
	// Redrive lets one be delivered again, if it is still as it was listed.
	Redrive(ctx context.Context, m outbox.GivenUpMessage, by, why string) error
}

// given are messages, and what came of a redrive.
type given struct {
	Rows     []outbox.GivenUpMessage
	Total    int
	Redriven int
	Changed  int
}

func (p *Page) messages(w http.ResponseWriter, r *http.Request) { p.showMessages(w, r, &given{}) }

func (p *Page) showMessages(w http.ResponseWriter, r *http.Request, g *given) {
	if p.Messages == nil {
		p.refuse(w, http.StatusNotFound, "There is no outbox",
			"Start the page with OUTBOX_TABLE to see messages that were given up.")
		return
	}
	all, err := p.Messages.List(r.Context())
	if err != nil {
		p.failed(w, err)
		return
	}
	g.Rows, g.Total = all[:min(len(all), mostListed)], len(all)
	p.render(w, http.StatusOK, "messages.html", p.frame("Messages that were given up", g))
}

// redrive lets the messages that were chosen be delivered again. One that has changed is left as it
// is.
func (p *Page) redrive(w http.ResponseWriter, r *http.Request) {
	why := strings.TrimSpace(r.PostForm.Get("why"))
	if p.Messages == nil || why == "" || len(r.PostForm["id"]) == 0 {
		p.refuse(w, http.StatusUnprocessableEntity, "This cannot be right",
			"Choose messages, and say why, so nothing was done.")
		return
	}
	all, err := p.Messages.List(r.Context())
	if err != nil {
		p.failed(w, err)
		return
	}
	p.changing.RLock()
	defer p.changing.RUnlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), changeLimit)
	defer cancel()
	g := &given{}
	for _, id := range r.PostForm["id"] {
		i := slices.IndexFunc(all, func(m outbox.GivenUpMessage) bool { return m.ID == unfield(id) })
		err := outbox.ErrNotGivenUp
		if i >= 0 {
			err = p.Messages.Redrive(ctx, all[i], p.By, why)
		}
		switch {
		case err == nil:
			g.Redriven++
		case errors.Is(err, outbox.ErrNotGivenUp):
			g.Changed++
		default:
			p.failed(w, err)
			return
		}
	}
	p.showMessages(w, r, g)
}
