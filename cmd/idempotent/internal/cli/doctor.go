package cli

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

func (a *app) doctor() *cobra.Command {
	var function, operation, messages string
	var plan planned
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Checks the table, and a function that uses it; or a template",
		Long: `Checks the table: its key, time to live, the index of records with attention, backups, what your credentials may do, and for how
long results are replayed. With --function also the function: its timeout against what its gateways wait, the settings of queues and
streams, its environment. With --outbox also the table of an outbox: its key, stream, index, time to live, and whether messages are
parked.

Nothing is changed. Permissions are tried with reads of a key that nobody has, with writes under a condition that never holds, and
with the deletion of a key that nobody has. They cost a few units.

With --template it looks at a template of SAM or CloudFormation instead, and at what was built of it, and asks AWS nothing: which routes
that change state reach a function that does not wrap, what is wrong with its queues, streams and timeouts, and which alarms are missing.
What nobody built cannot be seen: run sam build first. The Metadata of a function says with a reason what is exempt.

What cannot be looked at, for lack of a permission or because the endpoint is not AWS, is "not checked" and never "ok". The exit code
is 1 if there is a problem.`,
		Example: `  idempotent doctor --table idempotency
  idempotent doctor --table idempotency --outbox outbox
  idempotent doctor --table idempotency --function idempotent-charge -o json
  sam build && idempotent doctor --template template.yaml`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			if plan.template != "" || plan.given() {
				return a.review(plan, function+operation+messages != "")
			}
			return a.examine(cmd.Context(), function, operation, messages)
		}),
	}
	cmd.Flags().StringVar(&function, "function", "", "check the Lambda function with this `name` or ARN, too")
	cmd.Flags().StringVar(&operation, flagOperation, "", "try permissions on keys of the operation with this `name`; by default the function")
	cmd.Flags().StringVar(&messages, "outbox", "", "check the `table` of an outbox, too")
	plan.flags(cmd)
	noCompletion(cmd, "function", flagOperation, "outbox", "parameter", "binary")
	return cmd
}

// errUnhealthy is a table, a function or a template with a problem.
var errUnhealthy = errors.New("there are problems")

func (a *app) examine(ctx context.Context, function, operation, messages string) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	if s.conn == nil {
		return a.findings([]doctor.Finding{{Check: "table", Result: doctor.NotChecked, Detail: "the demo keeps its records in memory"}})
	}
	if operation == "" {
		operation = function
	}
	p := &doctor.Patient{
		Store: s.conn.Store, Operator: s.operator, DynamoDB: s.conn.Client, Table: s.conn.Table, Key: s.conn.Key,
		Operation: operation, Now: s.now, Function: function, Outbox: messages,
	}
	if !s.conn.OfAWS() {
		p.Emulator = s.conn.Endpoint
	}
	// An endpoint that was given is that of all services, as with an emulator of AWS.
	endpoint := a.target.Endpoint
	p.Lambda = lambda.NewFromConfig(s.conn.Config, func(o *lambda.Options) { o.BaseEndpoint = other(endpoint, o.BaseEndpoint) })
	p.SQS = sqs.NewFromConfig(s.conn.Config, func(o *sqs.Options) { o.BaseEndpoint = other(endpoint, o.BaseEndpoint) })
	p.APIGateway = apigateway.NewFromConfig(s.conn.Config, func(o *apigateway.Options) { o.BaseEndpoint = other(endpoint, o.BaseEndpoint) })
	p.APIGatewayV2 = apigatewayv2.NewFromConfig(s.conn.Config, func(o *apigatewayv2.Options) { o.BaseEndpoint = other(endpoint, o.BaseEndpoint) })
	findings, err := p.Examine(ctx)
	if err != nil {
		return err
	}
	return a.diagnosis(findings)
}

// diagnosis prints findings. It fails if one of them is a problem.
func (a *app) diagnosis(findings []doctor.Finding) error {
	if err := a.findings(findings); err != nil {
		return err
	}
	if doctor.Failed(findings) {
		return errUnhealthy
	}
	return nil
}

func other(endpoint string, usual *string) *string {
	if endpoint == "" {
		return usual
	}
	return aws.String(endpoint)
}

func (a *app) findings(findings []doctor.Finding) error {
	rows := make([][]show.Cell, 0, len(findings))
	for _, f := range findings {
		if a.output == outputJSON {
			if err := a.json(f); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []show.Cell{{Text: string(f.Result), Colour: resultColour(f.Result)}, {Text: f.Check}, {Text: f.Detail}})
	}
	return a.out().Table(rows)
}

func resultColour(r doctor.Result) show.Colour {
	switch r {
	case doctor.OK:
		return show.Green
	case doctor.Problem:
		return show.Red
	case doctor.Warning:
		return show.Yellow
	default:
		return show.Faint
	}
}
