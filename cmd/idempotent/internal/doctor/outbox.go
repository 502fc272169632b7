package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
)

// The checks of the table of an outbox.
const (
	checkOutbox           = "outbox"
	checkOutboxStream     = "outbox: stream"
	checkOutboxIndex      = "outbox: index"
	checkOutboxTTL        = "outbox: time to live"
	checkOutboxParked     = "outbox: parked messages"
	checkOutboxRecovery   = "outbox: point-in-time recovery"
	checkOutboxProtection = "outbox: deletion protection"
)

// outboxTable compares the table with what an outbox needs, and looks for messages that nobody delivers.
func (p *Patient) outboxTable(ctx context.Context) []Finding {
	return append(append(p.outboxShape(ctx), p.parked(ctx)), p.outboxSafety(ctx)...)
}

func (p *Patient) outboxShape(ctx context.Context) []Finding {
	advice, err := outbox.Check(ctx, p.DynamoDB, p.Outbox)
	wrong, isWrong := errors.AsType[*store.ConfigError](err)
	switch {
	case isWrong:
		return []Finding{{checkOutbox, Problem, strings.Join(withoutTable(p.Outbox, wrong.Problems), "; ")}}
	case err != nil && (denied(err) || ctx.Err() != nil):
		return []Finding{unseen(checkOutbox, err)}
	case err != nil:
		return []Finding{{checkOutbox, Problem, reason(err)}}
	}
	findings := []Finding{{Check: checkOutbox, Result: OK}}
	lacks := map[string]string{}
	for _, text := range withoutTable(p.Outbox, advice) {
		lacks[aboutOutbox(text)] = text
	}
	for _, check := range []string{checkOutboxStream, checkOutboxIndex, checkOutboxTTL} {
		f := Finding{Check: check, Result: OK}
		if text, is := lacks[check]; is {
			f.Result, f.Detail = Warning, text
		}
		findings = append(findings, f)
	}
	return findings
}

// aboutOutbox is the check that advice belongs to.
func aboutOutbox(advice string) string {
	about := strings.TrimPrefix(strings.TrimPrefix(advice, "it has no "), "its ")
	switch {
	case strings.HasPrefix(about, "stream"):
		return checkOutboxStream
	case strings.HasPrefix(about, "index"):
		return checkOutboxIndex
	default:
		return checkOutboxTTL
	}
}

// withoutTable cuts the name of a table off sentences about it.
func withoutTable(table string, sentences []string) []string {
	short := make([]string, len(sentences))
	for i, s := range sentences {
		short[i] = strings.TrimPrefix(s, fmt.Sprintf("table %q: ", table))
	}
	return short
}

// parked looks for one message that is parked.
func (p *Patient) parked(ctx context.Context) Finding {
	for _, err := range outbox.Parked(ctx, p.DynamoDB, p.Outbox) {
		if err != nil {
			return unseen(checkOutboxParked, err)
		}
		return Finding{checkOutboxParked, Warning, fmt.Sprintf("there are some: idempotent parked --table %s lists them", p.Outbox)}
	}
	return Finding{checkOutboxParked, OK, "none"}
}

// outboxSafety looks at what keeps messages from being lost before they are delivered.
func (p *Patient) outboxSafety(ctx context.Context) []Finding {
	if p.Emulator != "" {
		return []Finding{p.emulated(checkOutboxRecovery), p.emulated(checkOutboxProtection)}
	}
	recovery := p.recovery(ctx, p.Outbox)
	recovery.Check = checkOutboxRecovery
	out, err := p.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(p.Outbox)})
	switch {
	case err != nil:
		return []Finding{recovery, unseen(checkOutboxProtection, err)}
	case !aws.ToBool(out.Table.DeletionProtectionEnabled):
		return []Finding{recovery, {checkOutboxProtection, Warning, "off: with the table go messages that nobody has delivered"}}
	default:
		return []Finding{recovery, {Check: checkOutboxProtection, Result: OK}}
	}
}
