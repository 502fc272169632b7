package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/verdict"
	"github.com/go-idempotent/idempotent/operate"
)

// act is a change of one record: what settle and delete have in common.
type act struct {
	verdict.Verdict

	app          *app
	reason, seen string
	dryRun       bool
	// stdin is true if standard input is used up by something else than an answer.
	stdin bool
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

// run shows the record and what the change does to it, asks, and changes it, on the condition that
// it is as shown.
func (c *act) run(ctx context.Context, key string) error {
	if err := c.check(); err != nil {
		return err
	}
	s, err := c.app.open(ctx)
	if err != nil {
		return err
	}
	shown, err := s.inspect(ctx, key)
	if err != nil {
		return err
	}
	if c.seen != "" && show.Seen(shown.Record) != c.seen {
		return c.refuse(&changedError{now: shown, at: s.now()})
	}
	by, err := c.app.who()
	if err != nil {
		return err
	}
	a := operate.Act{By: by, Why: c.reason, DryRun: true}
	preview, err := c.Do(ctx, s.operator, shown, a)
	if err != nil {
		return c.failed(s, err)
	}
	notes := c.Notes()
	if danger := c.Danger(shown); danger != "" {
		if notes = append(notes, danger+": add --"+flagMayRepeat+" if you mean it"); !c.dryRun {
			return errors.New("refused: " + danger +
				", and the next request would execute; nothing was changed. Add --" +
				flagMayRepeat + " if you know that it had no effect, or accept a second one")
		}
	}
	switch {
	case c.dryRun && c.app.output == outputJSON:
		preview.Preview = append(preview.Preview, notes...)
		return c.app.json(audited{preview, c.app.place})
	case c.dryRun:
		return errors.Join(c.preview(c.app.out(), shown, preview, notes),
			c.app.out().Line("\nNothing was changed: --dry-run."))
	case !c.app.yes || c.app.output != outputJSON: // a program that has answered is shown nothing
		if err := errors.Join(c.preview(c.app.err(), shown, preview, notes), c.app.err().Line("")); err != nil {
			return err
		}
	}
	if !c.app.yes {
		if err := c.app.ask(ctx, c.Name()+"?", preview.By); err != nil {
			return err
		}
	}
	a.DryRun = false
	entry, err := c.Do(ctx, s.operator, shown, a)
	if err != nil {
		return c.failed(s, err)
	}
	return c.app.done(entry, c.Then())
}

// check finds what can be wrong before anything is read.
func (c *act) check() error {
	switch {
	case strings.TrimSpace(c.reason) == "":
		return usagef("--reason is missing: say why, for whoever looks at the record later")
	case !c.app.yes && !c.dryRun && c.stdin:
		return usagef("standard input is the result, so it cannot answer: add --yes, or --dry-run to see what would happen")
	case c.app.nobody(c.dryRun):
		return errNobody
	case c.seen != "" && !show.IsSeen(c.seen):
		return usagef("--seen is not what inspect prints as Seen")
	default:
		return nil
	}
}

// nobody reports whether a change is to be done that nobody can confirm.
func (a *app) nobody(dryRun bool) bool { return !a.yes && !dryRun && !a.world.InTerminal }

var errNobody = usagef("standard input is no terminal, so nobody can be asked: add --yes, or --dry-run to see what " +
	"would happen")

// failed adds to a refusal what is there now.
func (c *act) failed(s *source, err error) error {
	if changed, ok := errors.AsType[*operate.ChangedError](err); ok {
		return c.refuse(&changedError{now: changed.Shown, gone: changed.Gone, at: s.now()})
	}
	return err
}

// refuse shows what is there, before the error is reported. A program gets that with the error, see
// [app.report].
func (c *act) refuse(e *changedError) error {
	if c.app.output == outputJSON || e.gone {
		return e
	}
	i := show.Inspect(e.now)
	return errors.Join(tell(c.app.err(), &i, e.at), e)
}

// preview shows a record and what would become of it.
func (c *act) preview(p show.Printer, shown operate.Shown, preview operate.Entry, notes []string) error {
	i := show.Inspect(shown)
	if err := p.Table(factsOf(&i)); err != nil {
		return err
	}
	lines := []string{""}
	for _, line := range preview.Preview {
		lines = append(lines, "- "+show.Printable(line))
	}
	for _, note := range notes {
		lines = append(lines, "! "+show.Document(note))
	}
	return p.Line(strings.Join(lines, "\n"))
}

// audited is an entry of an audit log, with where the record is.
type audited struct {
	operate.Entry

	Where connect.Place `json:"where,omitzero"`
}

// done prints what was done, and what follows from it.
func (a *app) done(entry operate.Entry, then string) error {
	if a.output == outputJSON {
		return a.json(audited{entry, a.place})
	}
	done := strings.TrimSuffix(string(entry.Action)+": "+then, ": ")
	rows := [][]show.Cell{
		show.Cells("Action", done),
		show.Cells("Record", entry.RecordKey),
		{{Text: "Was"}, {Text: string(entry.Before.State), Colour: show.StateColour(entry.Before.State)}},
	}
	if entry.Step != "" {
		rows = slices.Insert(rows, 2, show.Cells("Step", entry.Step))
	}
	if after := entry.After; after != nil {
		rows = append(rows,
			[]show.Cell{{Text: "Is"}, {Text: string(after.State), Colour: show.StateColour(after.State)}},
			show.Cells("Expires", show.Both(after.Expiry, entry.Time)))
	}
	if entry.ResultDigest != "" {
		rows = append(rows, show.Cells("Result", "SHA-256 "+entry.ResultDigest))
	}
	rows = append(rows, show.Cells("By", entry.By), show.Cells("Why", entry.Why),
		show.Cells("When", show.Instant(entry.Time)))
	return a.out().Table(rows)
}

func (a *app) delete() *cobra.Command {
	c := &act{app: a, Verdict: verdict.Verdict{Kind: verdict.Deleted}}
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
		Args:              oneKey,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
		ValidArgsFunction: a.completeKeys,
	}
	c.flags(cmd)
	return cmd
}
