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
		Use:   "settle KEY (--executed FILE | --not-executed | --failed TYPE:MESSAGE) --reason TEXT",
		Short: "Says what became of an execution that left its outcome unknown",
		Long: `Says what became of an execution whose record is unknown or lapsed. Ask the service that has the effect, by the derived key that
"idempotent inspect" shows. Then

  --executed FILE        it had its effect, and FILE ("-" is standard input) holds its response as JSON, in the form of the gateway:
                         {"statusCode":201,"headers":{…},"body":"…"}. Retries get it. Of a handler that answers no HTTP requests
                         it holds the value that the handler would have returned: add --value.
  --not-executed         it had no effect and will have none. The next retry executes, whatever the crash policy.
  --failed TYPE:MESSAGE  it failed for good. Retries get this error, as if the handler had marked it as terminal.

Your verdict is final: if the execution comes back later, it changes nothing. If the verdict was wrong, the effect is repeated.`,
		Example: `  idempotent settle 'charge#JKJaXmPLvHcESHA' --not-executed --reason 'ticket 4711: the provider has no charge'
  idempotent settle 'charge#JKJaXmPLvHcESHA' --executed response.json --reason 'ticket 4711: the provider has ch_1'
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
	noCompletion(cmd, "failed")
	c.keeps = true
	c.flags(cmd)
	return cmd
}

// verdict is what was said of an execution.
type verdict struct {
	executed, failed string
	// value says that the result is no response.
	notExecuted, value bool
}

// into makes a change of a verdict, once it is known to be one.
func (v *verdict) into(c *act, cmd *cobra.Command) error {
	executed, failed := cmd.Flags().Changed("executed"), cmd.Flags().Changed("failed")
	given := 0
	for _, is := range []bool{executed, failed, v.notExecuted} {
		if is {
			given++
		}
	}
	if v.value && !executed {
		return usagef("--value is for --executed")
	}
	if given != 1 {
		return usagef("settle needs one verdict, not %d: --executed FILE, --not-executed or --failed TYPE:MESSAGE", given)
	}
	var said operate.Verdict
	switch {
	case executed:
		result, err := readResult(c, v.executed)
		if err != nil {
			return err
		}
		said = operate.Responded(result)
		if v.value {
			said = operate.Executed(result)
			c.notes = append(c.notes, "If the handler answers HTTP requests after all, every retry gets an error, until the record is deleted.")
		}
		c.question, c.done = "Settle it as executed?", "settled as executed: retries get the result"
	case failed:
		kind, message, _ := strings.Cut(v.failed, ":")
		kind, message = strings.TrimSpace(kind), strings.TrimSpace(message)
		if kind == "" || message == "" {
			return usagef("--failed needs a type, a colon and a message, such as Declined:\"the card was declined\"")
		}
		said = operate.Failed(kind, message)
		c.notes = append(c.notes, "If the handler answers HTTP requests, its gateway makes a 502 of this error: --executed with a response can say what failed.")
		c.question, c.done = "Settle it as failed?", "settled as failed: retries get the error"
	default:
		said = operate.NotExecuted()
		c.question, c.done = "Settle it as not executed?", "settled as not executed: the next retry executes"
	}
	c.do = func(ctx context.Context, o *operate.Operator, s operate.Shown, a operate.Act) (operate.Entry, error) {
		return o.Settle(ctx, s, said, a)
	}
	return nil
}

// mostResult bounds a result: Lambda returns no more than 6 MB.
const mostResult = 6 << 20

// readResult reads a result from a file, or from standard input.
func readResult(c *act, file string) ([]byte, error) {
	var result []byte
	var err error
	if file == "-" {
		c.stdin = true
		if c.app.world.InTerminal {
			return nil, usagef("--executed - reads standard input, which is a terminal: name a file")
		}
		result, err = io.ReadAll(io.LimitReader(c.app.world.In, mostResult+1))
	} else {
		result, err = os.ReadFile(file) //nolint:gosec // the user names it
	}
	switch {
	case err != nil:
		return nil, usagef("--executed: the result cannot be read: %v", err)
	case len(result) > mostResult:
		return nil, usagef("--executed: the result has more than %d bytes, which no function can return", mostResult)
	case !utf8.Valid(result) || !json.Valid(result):
		return nil, usagef("--executed: the result of %d bytes is no JSON", len(result))
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
whatever the crash policy, with the same derived keys. If the execution before had its effect, the effect is repeated.

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
