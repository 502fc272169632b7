// Package doctor looks for what is wrong with a table of records and with the function that uses
// it. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
)

// Result is what came of a check.
type Result string

// The results. What could not be looked at is never fine.
const (
	OK         Result = "ok"
	Problem    Result = "problem"
	Warning    Result = "warning"
	NotChecked Result = "not checked"
)

// Finding is one check with its result.
type Finding struct {
	Check  string `json:"check"`
	Result Result `json:"result"`
	// Detail says what was seen, or what is wrong and what follows from it.
	Detail string `json:"detail,omitempty"`
}

// Patient is what is looked at. Function and Outbox may be empty; everything else is needed.
type Patient struct {
	connect.Connection

	Operator *operate.Operator
	// Function is the name or ARN of a function that uses the table, Outbox the table of an outbox.
	Function, Outbox string

	Findings
}

// Examine makes all checks. An error ends it only if nothing can be looked at: the endpoint does
// not answer, there is no such table, or ctx has ended.
func (p *Patient) Examine(ctx context.Context) (Findings, error) {
	if err := p.records(ctx); err != nil {
		return nil, err
	}
	p.replicas(ctx)
	p.open(ctx)
	if p.Outbox != "" {
		p.outboxTable(ctx)
	}
	if p.Function != "" {
		p.function(ctx)
	}
	return p.Findings, ctx.Err()
}

// Findings are what came of checks, in their order.
type Findings []Finding

// Failed reports whether one of the findings is a problem.
func (f *Findings) Failed() bool {
	return slices.ContainsFunc(*f, func(f Finding) bool { return f.Result == Problem })
}

// Found adds what came of a check. Its detail is a format.
func (f *Findings) Found(check string, r Result, detail string, args ...any) {
	*f = append(*f, Finding{check, r, fmt.Sprintf(detail, args...)})
}

// unseen adds a check that could not be made.
func (f *Findings) unseen(check string, err error) { f.Found(check, NotChecked, "%s", reason(err)) }

// reason says why a call failed, without the layers of the SDK.
func reason(err error) string {
	_, answered := errors.AsType[smithy.APIError](err)
	switch {
	case denied(err):
		return "not allowed: " + operationOf(err)
	case answered:
		return operationOf(err) + ": " + connect.Cause(err)
	}
	return connect.Cause(err)
}

// operationOf is the IAM action that a call needed, as far as the SDK tells.
func operationOf(err error) string {
	oe, ok := errors.AsType[*smithy.OperationError](err)
	if !ok {
		return "a call"
	}
	service := strings.ToLower(strings.ReplaceAll(oe.ServiceID, " ", ""))
	if strings.HasPrefix(service, "apigateway") {
		return "apigateway:GET"
	}
	return service + ":" + oe.OperationName
}

func denied(err error) bool {
	answer, ok := errors.AsType[smithy.APIError](err)
	codes := []string{
		"AccessDeniedException", "AccessDenied", "NotAuthorized", "UnauthorizedOperation", "ForbiddenException",
	}
	return ok && slices.Contains(codes, answer.ErrorCode())
}

func seconds(d time.Duration) string   { return fmt.Sprintf("%d s", d/time.Second) }
func ofSeconds(n *int32) time.Duration { return time.Duration(aws.ToInt32(n)) * time.Second }
func ofMillis(n int32) time.Duration   { return time.Duration(n) * time.Millisecond }

// records compares the table with what the store needs.
func (p *Patient) records(ctx context.Context) error {
	err := p.Store.Check(ctx)
	failed, unseen := errors.AsType[*store.Error](err)
	if unseen && failed.Kind != store.FailureAccessDenied {
		return err
	}
	lacks, unadvised := p.Store.Advise(ctx)
	if unseen {
		unadvised = failed
	}
	p.table("table", p.Table, "its key, time to live and index fit", err, lacks, unadvised)
	return nil
}

// table adds each thing that is wrong with a table, or that it lacks, or that could not be seen.
func (p *Patient) table(check, table, right string, wrong error, lacks []string, unseen error) {
	before := len(p.Findings)
	add := func(texts []string, as Result) {
		for _, text := range texts {
			text, result := strings.TrimPrefix(text, fmt.Sprintf("table %q: ", table)), as
			if strings.HasPrefix(text, "time to live is DISABLED") { // what stays costs, and nothing is lost
				result = Warning
			}
			p.Found(check, result, "%s", text)
		}
	}
	if c, is := errors.AsType[*store.ConfigError](wrong); is {
		add(c.Problems, Problem)
	}
	add(lacks, Warning)
	if unseen != nil {
		p.unseen(check, unseen)
	}
	if len(p.Findings) == before {
		p.Found(check, OK, "%s", right)
	}
}

// replicas warns of a table that other Regions write to, too. It finds nothing where there is none.
func (p *Patient) replicas(ctx context.Context) {
	const check = "replicas"
	out, err := p.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(p.Table)})
	switch {
	case err != nil:
		p.unseen(check, err)
	case len(out.Table.Replicas) == 0:
	case out.Table.MultiRegionConsistency == types.MultiRegionConsistencyStrong:
		p.Found(check, Warning, "multi-Region strong consistency: there are no transactions, so no handler can commit")
	default:
		p.Found(check, Warning, "two Regions can both accept a claim of one key: send all deliveries of a key to one "+
			"Region")
	}
}

// open counts the records that somebody has to settle.
func (p *Patient) open(ctx context.Context) {
	const check = "open records"
	lines, err := show.List(ctx, p.Operator, operate.Query{})
	known := slices.IndexFunc(lines, func(l show.Line) bool { return !l.Since.IsZero() })
	switch {
	case err != nil:
		p.unseen(check, err)
	case len(lines) == 0:
		p.Found(check, OK, "none")
	default:
		p.Found(check, Warning, "%d wait for somebody, the oldest since %s: idempotent list tells them", len(lines),
			lines[max(known, 0)].Since.Format(time.RFC3339))
	}
}

// outboxTable compares the table with what an outbox needs, and looks for what nobody delivers.
func (p *Patient) outboxTable(ctx context.Context) {
	const check = "outbox"
	lacks, err := outbox.Check(ctx, p.Client, p.Outbox)
	_, wrong := errors.AsType[*store.ConfigError](err)
	switch {
	case wrong || err == nil:
		p.table(check, p.Outbox, "", err, lacks, nil)
	case denied(err) || ctx.Err() != nil:
		p.unseen(check, err)
	default:
		p.Found(check, Problem, "%s", reason(err))
	}
	if err == nil {
		p.givenUp(ctx)
	}
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
