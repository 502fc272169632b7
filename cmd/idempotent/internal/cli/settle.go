package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

// flagResult is the flag that shows a result, and the name of that field in errors of package
// operate.
const flagResult = "result"

// verdict is what was said of an execution, or of a step of it: the values of the flags.
type verdict struct {
	executed, failed, step       string
	notExecuted, released, value bool
}

func (a *app) settle() *cobra.Command {
	c := &act{app: a}
	var v verdict
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
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			if err := v.into(c, cmd); err != nil { // reads the result, and nothing else
				return err
			}
			return c.run(cmd.Context(), args[0])
		}),
		ValidArgsFunction: a.completeKeys,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&v.executed, "executed", "", "it had its effect: the `file` with its result as JSON")
	f.BoolVar(&v.value, "value", false, "the result is no response of an HTTP handler, but a value")
	f.BoolVar(&v.notExecuted, "not-executed", false, "it had no effect")
	f.StringVar(&v.failed, "failed", "", "it failed for good: the `type:message` of the error")
	f.BoolVar(&v.released, "released", false, "nobody knows: free the key")
	f.StringVar(&v.step, "step", "", "the verdict is on the step with this `name`")
	c.flags(cmd)
	return cmd
}

// into makes a change of a verdict, once it is known to be one.
func (v *verdict) into(c *act, cmd *cobra.Command) error {
	var given []string
	for _, flag := range []string{"executed", "not-executed", "failed", "released", "step", "value"} {
		if cmd.Flags().Changed(flag) {
			given = append(given, flag)
		}
	}
	said, err := v.on(c, given)
	if err != nil {
		return err
	}
	c.do = func(ctx context.Context, o *operate.Operator, s operate.Shown, a operate.Act) (operate.Entry, error) {
		if v.released {
			return o.Release(ctx, s, a)
		}
		return o.Settle(ctx, s, said, a)
	}
	return nil
}

// on is the verdict that these flags give. A release is none.
func (v *verdict) on(c *act, given []string) (said operate.Verdict, err error) {
	is := func(flags ...string) bool { return slices.Equal(given, flags) }
	switch {
	case slices.Contains(given, "step") && v.step == "":
		return said, usagef("--step is empty")
	case is("executed"), is("executed", "value"), is("executed", "step"), is("executed", "step", "value"):
		return v.onExecuted(c)
	case is("not-executed"):
		c.question, c.done, c.executes = "Settle it as not executed?",
			"settled as not executed: the next retry executes", true
		return operate.NotExecuted(), nil
	case is("released"):
		c.question, c.done, c.executes = "Release it?", "released: the next retry executes", true
		return said, nil
	case is("failed"), is("failed", "step"):
		return v.onFailed(c)
	case slices.Contains(given, "step"):
		return said, usagef("--step NAME goes with one of --executed FILE and --failed TYPE:MESSAGE, and with " +
			"nothing else")
	case slices.Contains(given, "value") && !slices.Contains(given, "executed"):
		return said, usagef("--value is for --executed")
	default:
		return said, usagef("settle needs one verdict: --executed FILE, --not-executed, --failed TYPE:MESSAGE or " +
			"--released")
	}
}

func (v *verdict) onExecuted(c *act) (said operate.Verdict, err error) {
	result, err := readResult(c, v.executed)
	switch {
	case err != nil:
		return said, err
	case v.step != "":
		c.question = "Settle the step as executed?"
		c.done = "settled the step as executed: the next retry executes, and gets the result from it"
		return operate.StepExecuted(v.step, result), nil
	}
	c.question, c.done = "Settle it as executed?", "settled as executed: retries get the result"
	c.notes = append(c.notes, "Retries get: "+show.Response(result, v.value))
	if !v.value {
		return operate.Responded(result), nil
	}
	c.notes = append(c.notes,
		"If the handler answers HTTP requests after all, every retry gets an error, until the record is deleted.")
	return operate.Executed(result), nil
}

func (v *verdict) onFailed(c *act) (said operate.Verdict, err error) {
	kind, message, _ := strings.Cut(v.failed, ":")
	kind, message = strings.TrimSpace(kind), strings.TrimSpace(message)
	switch {
	case kind == "" || message == "":
		return said, usagef("--failed needs a type, a colon and a message, such as Declined:\"the card was declined\"")
	case v.step != "":
		c.question, c.done = "Settle the step as failed?",
			"settled the step as failed: the next retry executes, and gets the error from it"
		return operate.StepFailed(v.step, kind, message), nil
	}
	c.notes = append(c.notes,
		"If the handler answers HTTP requests, its gateway makes a 502 of this error: --executed with a response "+
			"can say what failed.")
	c.question, c.done = "Settle it as failed?", "settled as failed: retries get the error"
	return operate.Failed(kind, message), nil
}

// mostResult bounds a result: Lambda returns no more than 6 MB.
const mostResult = 6 << 20

// readResult reads a result from a file, or from standard input.
func readResult(c *act, file string) ([]byte, error) {
	c.stdin = file == "-"
	if c.stdin && c.app.world.InTerminal {
		return nil, usagef("--executed - reads standard input, which is a terminal: name a file")
	}
	result, err := c.app.file("--executed", file, mostResult+1)
	switch {
	case err != nil:
		return nil, err
	case len(result) > mostResult:
		return nil, usagef("--executed: the result has more than %d bytes, which no function can return", mostResult)
	case !utf8.Valid(result) || !json.Valid(result):
		return nil, usagef("--executed: the result of %d bytes is no JSON", len(result))
	default:
		return []byte(strings.TrimSpace(string(result))), nil
	}
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
