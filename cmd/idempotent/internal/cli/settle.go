package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/operate"
)

func (a *app) settle() *cobra.Command {
	c := a.act()
	var v verdict
	cmd := &cobra.Command{
		Use:   "settle KEY (--executed FILE | --not-executed | --failed TYPE:MESSAGE | --step NAME …) --reason TEXT",
		Short: "Says what became of an execution that left its outcome unknown",
		Long: `Says what became of an execution whose record is unknown or lapsed. Ask the service that has the effect, by the derived key that
"idempotent inspect" shows. Then

  --executed FILE        it had its effect, and FILE ("-" is standard input) holds its response as JSON, in the form of the gateway:
                         {"statusCode":201,"headers":{…},"body":"…"}. Retries get it. Of a handler that answers no HTTP requests
                         it holds the value that the handler would have returned: add --value.
  --not-executed         it had no effect and will have none. The next retry executes, whatever the crash policy. Recorded steps stay
                         recorded; every other step runs, also one that may have begun.
  --failed TYPE:MESSAGE  it failed for good. Retries get this error, as if the handler had marked it as terminal.

Of one step that may have begun, and of no other:

  --step NAME --result FILE          it had its effect, and FILE ("-" is standard input) holds as JSON what the step would have
                                     returned. The next retry executes, gets this from the step, and goes on.
  --step NAME --failed TYPE:MESSAGE  it failed for good. The next retry executes, and gets this error from the step.

Your verdict is final: if the execution comes back later, it changes nothing. If the verdict was wrong, the effect is repeated.`,
		Example: `  idempotent settle 'charge#JKJaXmPLvHcESHA' --not-executed --reason 'ticket 4711: the provider has no charge'
  idempotent settle 'charge#JKJaXmPLvHcESHA' --executed response.json --reason 'ticket 4711: the provider has ch_1'
  idempotent settle 'order#VRsEvmZSWNzKFkP' --step charge --result charge.json --reason 'ticket 4711: the provider has ch_1'
  idempotent settle charge#uncertain --demo --failed Declined:"the card was declined" --reason 'the provider declined it' --dry-run`,
		Args: oneKey,
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			if err := v.into(c, cmd); err != nil { // reads the result, and nothing else
				return err
			}
			return c.run(cmd.Context(), args[0])
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.StringVar(&v.executed, "executed", "", "it had its effect: the `file` with its result as JSON, - for standard input")
	f.BoolVar(&v.value, "value", false, "the result is no response of an HTTP handler, but the value of another one")
	f.BoolVar(&v.notExecuted, "not-executed", false, "it had no effect")
	f.StringVar(&v.failed, "failed", "", "it failed for good: the `type:message` of the error")
	f.StringVar(&v.step, "step", "", "the verdict is on the step with this `name`, which may have begun")
	f.StringVar(&v.result, "result", "", "the step had its effect: the `file` with its result as JSON, - for standard input")
	noCompletion(cmd, "failed", "step")
	c.keeps = true
	c.flags(cmd)
	return cmd
}

// verdict is what was said of an execution, or of a step of it.
type verdict struct {
	executed, failed string
	// value says that the result is no response.
	notExecuted, value bool
	// step is the name of the step, and result that of the file with its result.
	step, result string
}

// The flags that give a result.
const (
	flagExecuted = "--executed"
	flagResult   = "--result"
)

// into makes a change of a verdict, once it is known to be one.
func (v *verdict) into(c *act, cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	of := v.ofAll
	if given("step") || given("result") {
		of = v.ofStep
	}
	said, err := of(c, given)
	if err != nil {
		return err
	}
	c.do = func(ctx context.Context, o *operate.Operator, s operate.Shown, a operate.Act) (operate.Entry, error) {
		return o.Settle(ctx, s, said, a)
	}
	return nil
}

// verdicts counts those that are given.
func verdicts(is ...bool) int {
	n := 0
	for _, is := range is {
		if is {
			n++
		}
	}
	return n
}

// ofAll is a verdict on the whole execution.
func (v *verdict) ofAll(c *act, given func(string) bool) (said operate.Verdict, err error) {
	if v.value && !given("executed") {
		return said, usagef("--value is for --executed")
	}
	if n := verdicts(given("executed"), given("failed"), v.notExecuted); n != 1 {
		return said, usagef("settle needs one verdict, not %d: --executed FILE, --not-executed or --failed TYPE:MESSAGE", n)
	}
	switch {
	case given("executed"):
		result, err := readResult(c, flagExecuted, v.executed)
		if err != nil {
			return said, err
		}
		said = operate.Responded(result)
		if v.value {
			said = operate.Executed(result)
			c.notes = append(c.notes, "If the handler answers HTTP requests after all, every retry gets an error, until the record is deleted.")
		}
		c.question, c.done = "Settle it as executed?", "settled as executed: retries get the result"
	case given("failed"):
		kind, message, err := v.failure()
		if err != nil {
			return said, err
		}
		said = operate.Failed(kind, message)
		c.notes = append(c.notes, "If the handler answers HTTP requests, its gateway makes a 502 of this error: --executed with a response can say what failed.")
		c.question, c.done = "Settle it as failed?", "settled as failed: retries get the error"
	default:
		said = operate.NotExecuted()
		c.question, c.done = "Settle it as not executed?", "settled as not executed: the next retry executes"
	}
	return said, nil
}

// ofStep is a verdict on one step.
func (v *verdict) ofStep(c *act, given func(string) bool) (said operate.Verdict, err error) {
	switch {
	case !given("step"):
		return said, usagef("--result is for --step NAME: the result of the whole execution is --executed")
	case v.step == "":
		return said, usagef("--step is empty")
	case given("executed") || v.notExecuted || v.value:
		return said, usagef("--step NAME goes with --result FILE or --failed TYPE:MESSAGE: --executed, --value and --not-executed are about the whole execution")
	}
	if n := verdicts(given("result"), given("failed")); n != 1 {
		return said, usagef("settle --step needs one verdict, not %d: --result FILE or --failed TYPE:MESSAGE", n)
	}
	if given("failed") {
		kind, message, err := v.failure()
		if err != nil {
			return said, err
		}
		c.question, c.done = "Settle the step as failed?", "settled the step as failed: the next retry executes, and gets the error from it"
		return operate.StepFailed(v.step, kind, message), nil
	}
	result, err := readResult(c, flagResult, v.result)
	if err != nil {
		return said, err
	}
	c.question, c.done = "Settle the step as executed?", "settled the step as executed: the next retry executes, and gets the result from it"
	return operate.StepExecuted(v.step, result), nil
}

func (v *verdict) failure() (kind, message string, err error) {
	kind, message, _ = strings.Cut(v.failed, ":")
	kind, message = strings.TrimSpace(kind), strings.TrimSpace(message)
	if kind == "" || message == "" {
		return "", "", usagef("--failed needs a type, a colon and a message, such as Declined:\"the card was declined\"")
	}
	return kind, message, nil
}

// mostResult bounds a result: Lambda returns no more than 6 MB.
const mostResult = 6 << 20

// readResult reads a result from a file, or from standard input.
func readResult(c *act, flag, file string) ([]byte, error) {
	var result []byte
	var err error
	if file == "-" {
		c.stdin = true
		if c.app.world.InTerminal {
			return nil, usagef("%s - reads standard input, which is a terminal: name a file", flag)
		}
		result, err = io.ReadAll(io.LimitReader(c.app.world.In, mostResult+1))
	} else {
		result, err = os.ReadFile(file) //nolint:gosec // the user names it
	}
	switch {
	case err != nil:
		return nil, usagef("%s: the result cannot be read: %v", flag, err)
	case len(result) > mostResult:
		return nil, usagef("%s: the result has more than %d bytes, which no function can return", flag, mostResult)
	case !utf8.Valid(result) || !json.Valid(result):
		return nil, usagef("%s: the result of %d bytes is no JSON", flag, len(result))
	default:
		return []byte(strings.TrimSpace(string(result))), nil
	}
}

func (a *app) release() *cobra.Command {
	c := a.act()
	c.keeps = true
	c.question, c.done = "Release it?", "released: the next retry executes"
	c.do = func(ctx context.Context, o *operate.Operator, s operate.Shown, act operate.Act) (operate.Entry, error) {
		return o.Release(ctx, s, act)
	}
	return c.command("release", "Frees a key without a verdict: the next retry executes",
		`Frees the key of a record that is unknown or lapsed, without a verdict on what the execution before did. The next retry executes,
whatever the crash policy, with the same derived keys. If the execution before had its effect, the effect is repeated, but for steps
that are recorded: those do not run again.

If you know what became of the execution, say so with settle instead: the record then tells.`)
}

func (a *app) delete() *cobra.Command {
	c := a.act()
	c.question, c.done = "Delete it?", "deleted: the next retry executes as if the key were new"
	c.do = func(ctx context.Context, o *operate.Operator, s operate.Shown, act operate.Act) (operate.Entry, error) {
		return o.Delete(ctx, s, act)
	}
	return c.command("delete", "Forgets a record: the next retry executes as if the key were new",
		`Removes a record, in whatever state it is but with a live lease: to forget a stored answer that was wrong, for example. The next
retry executes as if the key were new, whatever its content. Nothing of the record is left: keep what -o json prints, it is the
only trace.`)
}

// command makes a command that has no flags of its own.
func (c *act) command(name, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " KEY --reason TEXT",
		Short: short,
		Long:  long,
		Example: fmt.Sprintf(`  idempotent %[1]s 'charge#JKJaXmPLvHcESHA' --reason 'ticket 4711'
  idempotent %[1]s charge#lapsed --demo --reason 'to see it' --dry-run`, name),
		Args:              oneKey,
		RunE:              c.app.run(func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) }),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.flags(cmd)
	return cmd
}
