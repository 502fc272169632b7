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
	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/operate"
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
	// Function is the name of a function that uses the table, or its ARN, and Outbox the table of
	// an outbox.
	Function, Outbox string

	Findings
}

// Examine makes all checks. An error ends it only if nothing can be looked at: the endpoint does
// not answer, there is no such table, or ctx has ended.
func (p *Patient) Examine(ctx context.Context) (Findings, error) {
	if err := p.shape(ctx); err != nil {
		return nil, err
	}
	p.replicas(ctx)
	p.retention(ctx)
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
	answer, ok := errors.AsType[smithy.APIError](err)
	switch {
	case ok && denied(err):
		return "not allowed: " + operationOf(err)
	case ok:
		return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", operationOf(err), answer.ErrorCode(),
			answer.ErrorMessage()), ": ")
	default:
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
			err = inner
		}
		return err.Error()
	}
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

// denied reports whether a call was refused for lack of a permission.
func denied(err error) bool {
	answer, ok := errors.AsType[smithy.APIError](err)
	codes := []string{
		"AccessDeniedException", "AccessDenied", "NotAuthorized", "UnauthorizedOperation", "ForbiddenException",
	}
	return ok && slices.Contains(codes, answer.ErrorCode())
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", d/time.Second) }

func ofSeconds(n *int32) time.Duration { return time.Duration(aws.ToInt32(n)) * time.Second }

func ofMillis(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
