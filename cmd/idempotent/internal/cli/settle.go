package cli

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/verdict"
)

// flagResult is the flag that shows a result, and the name of that field in errors of package
// operate.
const flagResult = "result"

func (a *app) settle() *cobra.Command {
	c := &act{change: change{app: a}}
	var executed, failed string
	var notExecuted, released bool
	cmd := &cobra.Command{
		Use:        "settle KEY VERDICT --reason TEXT",
		Short:      "Says what became of an execution that left its outcome unknown",
		SuggestFor: []string{"release"},
		Long: `Says what became of an execution whose record is unknown or crashed. Ask the
service that has the effect, by the derived key that "idempotent inspect"
shows. The verdict is one of

  --executed FILE        it had its effect, and FILE ("-" is standard input)
                         holds its response as JSON, in the form of the
                         gateway: {"statusCode":201,"body":"…"}. Retries get
                         it. Of a handler that answers no HTTP requests it
                         holds what the handler would have returned: add
                         --value.
  --not-executed         it had no effect and will have none. The next retry
                         executes, whatever the effects. Recorded steps
                         stay recorded; every other step runs, also one that
                         may have begun.
  --failed TYPE:MESSAGE  it failed for good. Retries get this error, as if
                         the handler had marked it as terminal.
  --released             nobody knows. The next retry executes. If it had its
                         effect, that is repeated, but for recorded steps.

With --step NAME the first and the third are about one step that may have
begun, and FILE holds what the step would have returned. The next retry
executes, gets that from the step, and goes on.

Where the record itself says that there may have been an effect (unknown), or
that there was one (result-lost), a verdict after which a retry executes needs
--may-repeat-effect.

Your verdict is final: if the execution comes back later, it changes nothing.
If the verdict was wrong, the effect is repeated.`,
		Example: `  idempotent settle 'charge#JKJaXmPLvHcESHA' --executed response.json \
    --reason 'ticket 4711: ch_1'
  idempotent settle 'charge#JKJaXmPLvHcESHA' --not-executed \
    --may-repeat-effect --reason 'ticket 4711: the provider has no charge'
  idempotent settle 'order#VRsEvmZSWNzKFkP' --step charge \
    --executed charge.json --reason 'ticket 4711: ch_1'
  idempotent settle charge#uncertain --demo --failed Declined:"declined" \
    --reason 'ticket 4711' --dry-run`,
		Args: oneKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := map[string]string{
				"executed": verdict.Executed, "not-executed": verdict.NotExecuted,
				"failed": verdict.Failed, "released": verdict.Released,
			}
			for flag, kind := range flags {
				switch {
				case !cmd.Flags().Changed(flag):
				case c.Kind != "":
					return usagef(oneVerdict)
				default:
					c.Kind = kind
				}
			}
			switch {
			case c.Kind == "":
				return usagef(oneVerdict)
			case cmd.Flags().Changed("step") && c.Step == "":
				return usagef("--step is empty")
			case c.Value && c.Kind != verdict.Executed:
				return usagef("--value is for --executed")
			case c.Kind == verdict.Failed:
				kind, message, _ := strings.Cut(failed, ":")
				c.Type, c.Message = strings.TrimSpace(kind), strings.TrimSpace(message)
			case c.Kind == verdict.Executed:
				if err := c.read(executed); err != nil {
					return err
				}
			}
			if problem := c.Problem(); problem != "" {
				return usagef("--%s: %s", c.Kind, problem)
			}
			return c.run(cmd.Context(), args[0])
		},
		ValidArgsFunction: a.completeKeys,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&executed, "executed", "", "it had its effect: the `file` with its result as JSON")
	f.BoolVar(&c.Value, "value", false, "the result is no response of an HTTP handler, but a value")
	f.BoolVar(&notExecuted, "not-executed", false, "it had no effect")
	f.StringVar(&failed, "failed", "", "it failed for good: the `type:message` of the error")
	f.BoolVar(&released, "released", false, "nobody knows: free the key")
	f.StringVar(&c.Step, "step", "", "the verdict is on the step with this `name`")
	c.flags(cmd)
	return cmd
}

const oneVerdict = "settle needs one verdict: --executed FILE, --not-executed, --failed TYPE:MESSAGE or --released"

// read reads the result from a file, or from standard input.
func (c *act) read(file string) error {
	c.stdin = file == "-"
	if c.stdin && c.app.world.InTerminal {
		return usagef("--executed - reads standard input, which is a terminal: name a file")
	}
	result, err := c.app.file("--executed", file, verdict.MostResult+1)
	c.Result = strings.TrimSpace(string(result))
	return err
}

// file reads the beginning of a file that a flag names, or of standard input.
func (a *app) file(flag, name string, most int64) ([]byte, error) {
	in := a.world.In
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the user names it
		if err != nil {
			return nil, usagef("%s cannot be read: %v", flag, err)
		}
		defer f.Close()
		in = f
	}
	content, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return nil, usagef("%s cannot be read: %v", flag, err)
	}
	return content, nil
}
