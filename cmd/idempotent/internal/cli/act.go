package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

// change is what the commands that change something have in common.
type change struct {
	app    *app
	reason string
	dryRun bool
	// stdin is true if standard input is used up by something else than an answer.
	stdin bool
}

// check finds what can be wrong before anything, of which there is a word, is read.
func (c *change) check(what string) error {
	switch unasked := !c.app.yes && !c.dryRun; {
	case strings.TrimSpace(c.reason) == "":
		return usagef("--reason is missing: say why, for whoever looks at the %s later", what)
	case unasked && c.stdin:
		return usagef("standard input is the result, so it cannot answer: add --yes, or --dry-run to see what would happen")
	case unasked && !c.app.world.InTerminal:
		return usagef("standard input is no terminal, so nobody can be asked: add --yes, or --dry-run to see what would " +
			"happen")
	}
	return nil
}

// confirm shows what would happen, and asks. It is false for a dry run; then a program gets a line.
func (c *change) confirm(ctx context.Context, question, by string, preview func(show.Printer) error,
	line func() error,
) (bool, error) {
	a := c.app
	switch {
	case c.dryRun && a.output == outputJSON:
		return false, line()
	case c.dryRun:
		return false, errors.Join(preview(a.out()), a.out().Line("Nothing was changed: --dry-run."))
	case !a.yes || a.output != outputJSON: // a program that has answered is shown nothing
		if err := preview(a.err()); err != nil {
			return false, err
		}
	}
	if a.yes {
		return true, nil
	}
	return true, a.ask(ctx, question, by)
}

// act is a change of one record: what settle and delete have in common.
type act struct {
	change
	show.Verdict

	seen string
}

// flagMayRepeat names the danger of a change after which the next request executes.
const flagMayRepeat = "may-repeat-effect"

// flags adds the flags of all changes.
func (c *act) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.reason, "reason", "", "why, for the record and the audit `text`; required; no secrets")
	f.BoolVar(&c.MayRepeat, flagMayRepeat, false, "of a record that is unknown: let a retry execute")
	f.StringVar(&c.seen, "seen", "", "refuse a record that has changed since inspect printed this `text` as Seen")
	f.BoolVar(&c.dryRun, "dry-run", false, "say what would happen, and change nothing")
}

// run shows the record and what the change does to it, asks, and changes it if it is as shown.
func (c *act) run(cmd *cobra.Command, key string) error {
	ctx, conditional := cmd.Context(), cmd.Flags().Changed("seen") // a script may have lost what it saw
	if err := c.check("record"); err != nil {
		return err
	}
	if conditional && !show.IsSeen(c.seen) {
		return usagef("--seen is not what inspect prints as Seen")
	}
	if err := c.app.open(ctx); err != nil {
		return err
	}
	shown, err := c.app.read(ctx, key)
	if err != nil {
		return err
	}
	if conditional && show.Seen(shown.Record) != c.seen {
		return &operate.Error{Kind: operate.ErrChanged, Now: &shown}
	}
	by, err := c.app.who()
	if err != nil {
		return err
	}
	a := operate.Act{By: by, Why: c.reason, DryRun: true}
	preview, err := c.Do(ctx, c.app.operator, shown, a)
	if err != nil {
		return err
	}
	notes := c.Notes()
	if danger := c.Danger(shown); danger != "" {
		if notes = append(notes, danger+": add --"+flagMayRepeat+" if you mean it"); !c.dryRun {
			return errors.New("refused: " + danger +
				", and the next request would execute; nothing was changed. Add --" +
				flagMayRepeat + " if you know that it had no effect, or accept a second one")
		}
	}
	i := show.Inspect(shown)
	var lines strings.Builder
	for _, line := range preview.Preview {
		lines.WriteString("\n- " + show.Printable(line))
	}
	for _, note := range notes {
		lines.WriteString("\n! " + show.Document(note))
	}
	agreed, err := c.confirm(ctx, c.Name()+"?", preview.By,
		func(p show.Printer) error { return errors.Join(p.Table(factsOf(&i)), p.Line(lines.String()+"\n")) },
		func() error {
			preview.Preview = append(preview.Preview, notes...)
			return c.app.json(audited{preview, c.app.place})
		})
	if err != nil || !agreed {
		return err
	}
	a.DryRun = false
	entry, err := c.Do(ctx, c.app.operator, shown, a)
	if err != nil {
		return err
	}
	return c.app.done(entry, c.Then())
}

type audited struct {
	operate.Entry

	Where connect.Place `json:"where,omitzero"`
}

func (a *app) done(entry operate.Entry, then string) error {
	if a.output == outputJSON {
		return a.json(audited{entry, a.place})
	}
	var rows show.Rows
	rows.Add("Action", strings.TrimSuffix(string(entry.Action)+": "+then, ": "))
	rows.Add("Record", entry.RecordKey)
	rows.Add("Step", entry.Step)
	rows.AddIn(show.StateColour(entry.Before.State), "Was", string(entry.Before.State))
	if after := entry.After; after != nil {
		rows.AddIn(show.StateColour(after.State), "Is", string(after.State))
		if !after.Expiry.IsZero() {
			rows.Add("Expires", show.Instant(after.Expiry)+" ("+show.Relative(after.Expiry, entry.Time)+")")
		}
	}
	if entry.ResultDigest != "" {
		rows.Add("Result", "SHA-256 "+entry.ResultDigest)
	}
	rows.Add("By", entry.By)
	rows.Add("Why", entry.Why)
	rows.Add("When", show.Instant(entry.Time))
	return a.out().Table(rows)
}

func (a *app) delete() *cobra.Command {
	c := &act{change: change{app: a}, Verdict: show.Verdict{Kind: show.Deleted}}
	cmd := &cobra.Command{
		Use:   "delete KEY --reason TEXT",
		Short: "Forgets a record: the next retry executes as if the key were new",
		Long: `Removes a record, in whatever state it is but with a live lease: to forget a
stored answer that was wrong, for example. The next retry executes as if the
key were new, whatever its content. Nothing of the record is left: keep what
-o json prints, it is the only trace. A record that is unknown may have had
its effect: deleting it needs --` + flagMayRepeat + `.`,
		Example: `  idempotent delete 'charge#JKJaXmPLvHcESHA' --reason 'ticket 4711'
  idempotent delete charge#completed --demo --reason 'to see it' --dry-run`,
		Args: oneKey,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.flags(cmd)
	return cmd
}

// flagResult is the flag that shows a result, and the name of the field in errors of operate.
const flagResult = "result"

func (a *app) settle() *cobra.Command {
	c := &act{change: change{app: a}}
	var executed, failed string
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
			verdicts := []string{show.Executed, show.NotExecuted, show.Failed, show.Released}
			given := slices.DeleteFunc(verdicts, func(kind string) bool { return !cmd.Flags().Changed(kind) })
			if len(given) != 1 {
				return usagef("settle needs one verdict: --executed FILE, --not-executed, --failed TYPE:MESSAGE or --released")
			}
			switch c.Kind = given[0]; {
			case cmd.Flags().Changed("step") && c.Step == "":
				return usagef("--step is empty")
			case c.Value && c.Kind != show.Executed:
				return usagef("--value is for --executed")
			case c.Kind == show.Failed:
				kind, message, _ := strings.Cut(failed, ":")
				c.Type, c.Message = strings.TrimSpace(kind), strings.TrimSpace(message)
			case c.Kind == show.Executed:
				if err := c.readResult(executed); err != nil {
					return err
				}
			}
			if problem := c.Problem(); problem != "" {
				return usagef("--%s: %s", c.Kind, problem)
			}
			return c.run(cmd, args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&executed, show.Executed, "", "it had its effect: the `file` with its result as JSON")
	f.BoolVar(&c.Value, "value", false, "the result is no response of an HTTP handler, but a value")
	f.Bool(show.NotExecuted, false, "it had no effect")
	f.StringVar(&failed, show.Failed, "", "it failed for good: the `type:message` of the error")
	f.Bool(show.Released, false, "nobody knows: free the key")
	f.StringVar(&c.Step, "step", "", "the verdict is on the step with this `name`")
	c.flags(cmd)
	return cmd
}

func (c *act) readResult(file string) error {
	c.stdin = file == "-"
	if c.stdin && c.app.world.InTerminal {
		return usagef("--executed - reads standard input, which is a terminal: name a file")
	}
	result, err := c.app.file("--executed", file, show.MostResult+1)
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
