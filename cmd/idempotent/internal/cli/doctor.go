package cli

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/audit"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

func (a *app) doctor() *cobra.Command {
	var function, messages, template, build string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Checks the table, and a function that uses it; or a template",
		Long: `Checks the table: its key, time to live, the index of records with attention,
replicas, and how many records wait for somebody. With --function also the
function: its timeout against what its gateways wait, the settings of queues
and streams, its environment. With --outbox also the table of an outbox.
Nothing is changed.

With --template it looks at a template of SAM or CloudFormation instead, and
at what was built of it, and asks AWS nothing: which routes that change
state reach a function that does not wrap, and what the template says of
tables, permissions, variables and alarms. Build first. The Metadata of a
function says with a reason what is exempt.

What cannot be looked at is "not checked" and never "ok". The exit code is 1
if there is a problem: something loses requests. What only costs, or may
surprise somebody later, is a warning.`,
		Example: `  idempotent doctor --table idempotency --outbox outbox
  idempotent doctor --table idempotency --function idempotent-charge -o json
  sam build && idempotent doctor --template template.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case template != "" && function+messages != "":
				return usagef("--template looks at a file, and --function and --outbox at AWS: leave out one or the other")
			case template != "":
				return a.diagnosis(audit.Examine(template, build))
			case build != "":
				return usagef("--build-dir is about a template: add --template")
			default:
				return a.examine(cmd.Context(), function, messages)
			}
		},
	}
	f := cmd.Flags()
	f.StringVar(&function, "function", "", "check the Lambda function with this `name` or ARN, too")
	f.StringVar(&messages, "outbox", "", "check the `table` of an outbox, too")
	f.StringVar(&template, "template", "", "look at the template in this `file` instead, without AWS")
	f.StringVar(&build, "build-dir", "",
		"the `folder` with the programs; by default .aws-sam/build beside the template")
	return cmd
}

func (a *app) examine(ctx context.Context, function, messages string) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	p := &doctor.Patient{Operator: a.operator, Function: function, Outbox: messages}
	if a.conn == nil {
		p.Found("table", doctor.NotChecked, "the demo keeps its records in memory")
		return a.diagnosis(p.Findings, nil)
	}
	p.Connection = *a.conn
	if a.target.Endpoint != "" { // one that was given is that of all services, as with an emulator of AWS
		p.Config.BaseEndpoint = aws.String(a.target.Endpoint)
	}
	p.Found("where", doctor.OK, "%s", a.place)
	return a.diagnosis(p.Examine(ctx))
}

// diagnosis prints findings. It fails if one of them is a problem.
func (a *app) diagnosis(findings doctor.Findings, err error) error {
	if err != nil {
		return err
	}
	colours := map[doctor.Result]show.Colour{
		doctor.OK: show.Green, doctor.Problem: show.Red, doctor.Warning: show.Yellow, doctor.NotChecked: show.Faint,
	}
	table := make([][]show.Cell, len(findings))
	for i, f := range findings {
		table[i] = []show.Cell{{Text: string(f.Result), Colour: colours[f.Result]}, {Text: f.Check}, {Text: f.Detail}}
	}
	if err := printAll(a, findings, table); err != nil || !findings.Failed() {
		return err
	}
	return errors.New("there are problems")
}
