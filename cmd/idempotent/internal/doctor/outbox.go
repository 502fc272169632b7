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
func (p *Patient) outboxTable(ctx context.Context) []Finding {
	const check = "outbox"
	short := func(text string) string { return strings.TrimPrefix(text, fmt.Sprintf("table %q: ", p.Outbox)) }
	advice, err := outbox.Check(ctx, p.DynamoDB, p.Outbox)
	wrong, isWrong := errors.AsType[*store.ConfigError](err)
	var findings []Finding
	switch {
	case isWrong:
		for _, text := range wrong.Problems {
			findings = append(findings, Finding{check, Problem, short(text)})
		}
		return findings
	case err != nil && (denied(err) || ctx.Err() != nil):
		return []Finding{unseen(check, err)}
	case err != nil:
		return []Finding{{check, Problem, reason(err)}}
	case len(advice) == 0:
		findings = []Finding{{Check: check, Result: OK}}
	}
	for _, text := range advice {
		findings = append(findings, Finding{check, Warning, short(text)})
	}
	return append(findings, p.givenUp(ctx))
}

// givenUp looks for one message that nobody delivers any more.
func (p *Patient) givenUp(ctx context.Context) Finding {
	const check = "outbox: messages that were given up"
	for _, err := range outbox.GivenUp(ctx, p.DynamoDB, p.Outbox) {
		if err != nil {
			return unseen(check, err)
		}
		return found(check, Warning, "there are some: idempotent messages list --table %s tells them", p.Outbox)
	}
	return Finding{check, OK, "none"}
}
