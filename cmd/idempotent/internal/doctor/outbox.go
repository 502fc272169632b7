package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
)

// outboxTable compares the table with what an outbox needs, and looks for messages that nobody
// delivers.
func (p *Patient) outboxTable(ctx context.Context) {
	const check = "outbox"
	short := func(text string) string { return strings.TrimPrefix(text, fmt.Sprintf("table %q: ", p.Outbox)) }
	advice, err := outbox.Check(ctx, p.Client, p.Outbox)
	wrong, isWrong := errors.AsType[*store.ConfigError](err)
	switch {
	case isWrong:
		for _, text := range wrong.Problems {
			p.Found(check, Problem, "%s", short(text))
		}
		return
	case err != nil && (denied(err) || ctx.Err() != nil):
		p.unseen(check, err)
		return
	case err != nil:
		p.Found(check, Problem, "%s", reason(err))
		return
	case len(advice) == 0:
		p.Found(check, OK, "")
	}
	for _, text := range advice {
		p.Found(check, Warning, "%s", short(text))
	}
	p.givenUp(ctx)
}

// givenUp looks for one message that nobody delivers any more.
func (p *Patient) givenUp(ctx context.Context) {
	const check = "outbox: messages that were given up"
	for _, err := range outbox.GivenUp(ctx, p.Client, p.Outbox) {
		if err != nil {
			p.unseen(check, err)
		} else {
			p.Found(check, Warning, "there are some: idempotent messages list --table %s tells them", p.Outbox)
		}
		return
	}
	p.Found(check, OK, "none")
}
