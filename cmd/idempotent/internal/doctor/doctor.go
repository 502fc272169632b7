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
	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/dynamo"
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
	Store    *dynamo.Store
	Operator *operate.Operator
	DynamoDB *dynamodb.Client
	Table    string
	// Config is for the clients of other services.
	Config aws.Config
	// Function is the name of a function that uses the table, or its ARN, and Outbox the table of
	// an outbox.
	Function, Outbox string
}

// Examine makes all checks. An error ends it only if nothing can be looked at: the endpoint does
// not answer, there is no such table, or ctx has ended.
func (p *Patient) Examine(ctx context.Context) ([]Finding, error) {
	findings, err := p.shape(ctx)
	if err != nil {
		return nil, err
	}
	findings = append(findings, p.replicas(ctx)...)
	findings = append(findings, p.retention(ctx), p.open(ctx))
	if p.Outbox != "" {
		findings = append(findings, p.outboxTable(ctx)...)
	}
	if p.Function != "" {
		findings = append(findings, p.function(ctx)...)
	}
	return findings, ctx.Err()
}

// Failed reports whether one of the findings is a problem.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Result == Problem })
}

// found is what came of a check. Its detail is a format.
func found(check string, r Result, detail string, args ...any) Finding {
	return Finding{check, r, fmt.Sprintf(detail, args...)}
}

// unseen is a check that could not be made.
func unseen(check string, err error) Finding {
	return Finding{check, NotChecked, reason(err)}
}

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
