package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// act is a change of one record: what settle and delete have in common.
type act struct {
	app    *app
	reason string
	seen   string
	dryRun bool
	// keeps is true if the record is kept, for at least retention.
	keeps     bool
	retention time.Duration
	// question asks for a confirmation, done tells what was done, notes are warnings about what only this program knows.
	question, done string
	notes          []string
	// stdin is true if standard input is used up by something else than an answer.
	stdin bool
	// do is the change itself.
	do func(ctx context.Context, o *operate.Operator, s operate.Shown, a operate.Act) (operate.Entry, error)
}

// flags adds the flags of all changes.
func (c *act) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.reason, "reason", "", "why, for the record and the audit `text`; required; no secrets")
	f.StringVar(&c.seen, "seen", "", "refuse a record that has changed since inspect printed this `text` as Seen")
	f.BoolVar(&c.dryRun, "dry-run", false, "say what would happen, and change nothing")
	c.app.byFlag(cmd)
	c.app.yesFlag(cmd)
	if c.keeps {
		f.DurationVar(&c.retention, "retention", operate.DefaultRetention, "keep the record for at least this `time`; that of the handler")
	}
	noFiles(cmd)
}

// run shows the record and what the change does to it, asks, and changes it, on the condition that it is as shown.
func (c *act) run(ctx context.Context, key string) error {
	seen, err := c.check()
	if err != nil {
		return err
	}
	var opts []operate.Option
	if c.keeps {
		opts = append(opts, operate.WithRetention(c.retention))
	}
	s, err := c.app.open(ctx, opts...)
	if err != nil {
		return err
	}
	shown, err := s.inspect(ctx, key)
	if err != nil {
		return err
	}
	if c.seen != "" && show.Seen(shown.Record) != c.seen {
		return c.refuse(&changedError{seen: seen, now: shown, at: s.now()})
	}
	by, err := c.app.who()
	if err != nil {
		return err
	}
	a := operate.Act{By: by, Why: c.reason, DryRun: true}
	preview, err := c.do(ctx, s.operator, shown, a)
	if err != nil {
		return c.failed(s, shown, err)
	}
	if c.dryRun {
		return c.dry(s, shown, preview)
	}
	if err := c.confirm(ctx, s, shown, preview); err != nil {
		return err
	}
	a.DryRun = false
	entry, err := c.do(ctx, s.operator, shown, a)
	if err != nil {
		return c.failed(s, shown, err)
	}
	return c.app.done(entry, c.done)
}

// check finds what can be wrong before anything is read.
func (c *act) check() (seen store.Record, err error) {
	switch {
	case strings.TrimSpace(c.reason) == "":
		return seen, usagef("--reason is missing: say why, for whoever looks at the record later")
	case c.keeps && c.retention <= 0:
		return seen, usagef("--retention %s is not positive", c.retention)
	case !c.app.yes && !c.dryRun && c.stdin:
		return seen, usagef("standard input is the result, so it cannot answer: add --yes, or --dry-run to see what would happen")
	case !c.app.yes && !c.dryRun && !c.app.world.InTerminal:
		return seen, errNobody
	case c.seen != "":
		return parseSeen(c.seen)
	default:
		return seen, nil
	}
}

// errNobody is a change that nobody can confirm.
var errNobody = usagef("standard input is no terminal, so nobody can be asked: add --yes, or --dry-run to see what would happen")

// confirm shows what is about to happen and asks, unless that was answered in advance. A program that has answered is shown nothing.
func (c *act) confirm(ctx context.Context, s *source, shown operate.Shown, preview operate.Entry) error {
	if c.app.yes && c.app.output == outputJSON {
		return nil
	}
	if err := c.preview(c.app.err(), s, shown, preview); err != nil {
		return err
	}
	if err := c.app.err().Line(""); err != nil || c.app.yes {
		return err
	}
	return c.app.ask(ctx, c.question, preview.By)
}

// failed adds to a refusal what is there now.
func (c *act) failed(s *source, shown operate.Shown, err error) error {
	if changed, ok := errors.AsType[*operate.ChangedError](err); ok {
		return c.refuse(&changedError{seen: shown.Record, now: changed.Shown, gone: changed.Gone, at: s.now()})
	}
	return err
}

// refuse shows what has changed, before the error is reported. A program gets both records with the error, see [app.report].
func (c *act) refuse(e *changedError) error {
	if c.app.output == outputJSON || e.gone {
		return e
	}
	if err := c.app.err().Table(e.rows()); err != nil {
		return err
	}
	return e
}

// preview shows a record and what would become of it.
func (c *act) preview(p show.Printer, s *source, shown operate.Shown, preview operate.Entry) error {
	i := inspectionOf(shown)
	if err := p.Table(i.rows(s.now())); err != nil {
		return err
	}
	lines := []string{""}
	for _, line := range preview.Preview {
		lines = append(lines, "- "+show.Printable(line))
	}
	for _, note := range c.notes {
		lines = append(lines, "! "+show.Printable(note))
	}
	return p.Line(strings.Join(lines, "\n"))
}

// dry prints what would happen.
func (c *act) dry(s *source, shown operate.Shown, preview operate.Entry) error {
	if c.app.output == outputJSON {
		preview.Preview = append(preview.Preview, c.notes...)
		return c.app.json(audited{preview, c.app.place})
	}
	if err := c.preview(c.app.out(), s, shown, preview); err != nil {
		return err
	}
	return c.app.out().Line("\nNothing was changed: --dry-run.")
}

// audited is an entry of an audit log, with where the record is.
type audited struct {
	operate.Entry

	Where connect.Place `json:"where,omitzero"`
}

// done prints what was done.
func (a *app) done(entry operate.Entry, done string) error {
	if a.output == outputJSON {
		return a.json(audited{entry, a.place})
	}
	rows := [][]show.Cell{
		show.Cells("Done", done),
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
		if len(after.Steps) > 0 {
			rows = append(rows, show.Cells("Keeps", show.StepCounts(after.Steps)))
		}
	}
	rows = append(rows, show.Cells("By", entry.By), show.Cells("Why", entry.Why), show.Cells("When", show.Instant(entry.Time)))
	return a.out().Table(rows)
}

func (a *app) delete() *cobra.Command {
	c := &act{app: a, question: "Delete it?", done: "deleted: the next retry executes as if the key were new"}
	c.do = func(ctx context.Context, o *operate.Operator, s operate.Shown, act operate.Act) (operate.Entry, error) {
		return o.Delete(ctx, s, act)
	}
	cmd := &cobra.Command{
		Use:   "delete KEY --reason TEXT",
		Short: "Forgets a record: the next retry executes as if the key were new",
		Long: `Removes a record, in whatever state it is but with a live lease: to forget a
stored answer that was wrong, for example. The next retry executes as if the
key were new, whatever its content. Nothing of the record is left: keep what
-o json prints, it is the only trace.`,
		Example: `  idempotent delete 'charge#JKJaXmPLvHcESHA' --reason 'ticket 4711'
  idempotent delete charge#completed --demo --reason 'to see it' --dry-run`,
		Args:              oneKey,
		RunE:              a.run(func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) }),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.flags(cmd)
	return cmd
}
