package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// act is a change of one record: what all of them have in common.
type act struct {
	app       *app
	reason    string
	by        string
	operation string
	seen      string
	yes       bool
	dryRun    bool
	// keeps is true if the record is kept, for at least retention.
	keeps     bool
	retention time.Duration
	// question asks for a confirmation, done tells what was done.
	question, done string
	// notes are warnings about what only this program knows.
	notes []string
	// stdin is true if standard input is used up by something else than an answer.
	stdin bool
	// do is the change itself.
	do func(ctx context.Context, o *operate.Operator, s operate.Shown, a operate.Act) (operate.Entry, error)
}

func (a *app) act() *act { return &act{app: a} }

// flags adds the flags of all changes.
func (c *act) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.reason, "reason", "", "why, for the record and the audit `text`; required; no secrets")
	f.StringVar(&c.by, "by", "", "who; by default the ARN of your credentials, or your user on this machine if AWS is not asked")
	f.StringVar(&c.operation, flagOperation, "", "refuse a record of another operation than this `name`")
	f.StringVar(&c.seen, "seen", "", "refuse a record that has changed since inspect printed this `text` as Seen")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask; needed if standard input is no terminal")
	f.BoolVar(&c.dryRun, "dry-run", false, "say what would happen, and change nothing")
	if c.keeps {
		f.DurationVar(&c.retention, "retention", operate.DefaultRetention, "keep the record for at least this `time`; the retention of the handler")
	}
	noCompletion(cmd, "reason", "by", flagOperation, "seen")
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
	if c.seen != "" {
		same, err := wasSeen(shown.Record, seen, c.seen)
		if err != nil {
			return err
		}
		if !same {
			return c.refuse(&changedError{seen: seen, now: shown, at: s.now()})
		}
	}
	by, err := c.app.who(ctx, s, c.by)
	if err != nil {
		return err
	}
	a := operate.Act{By: by, Why: c.reason, Operation: c.operation, DryRun: true}
	preview, err := c.do(ctx, s.operator, shown, a)
	if err != nil {
		return c.failed(s, shown, err)
	}
	if c.dryRun {
		return c.app.dry(s, shown, preview, c.notes)
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
	case !c.yes && !c.dryRun && c.stdin:
		return seen, usagef("standard input is the result, so it cannot answer: add --yes, or --dry-run to see what would happen")
	case !c.yes && !c.dryRun && !c.app.world.InTerminal:
		return seen, usagef("standard input is no terminal, so nobody can be asked: add --yes, or --dry-run to see what would happen")
	case c.seen != "":
		return parseSeen(c.seen)
	default:
		return seen, nil
	}
}

// confirm shows what is about to happen and asks, unless that was answered in advance. A program that has answered is shown nothing.
func (c *act) confirm(ctx context.Context, s *source, shown operate.Shown, preview operate.Entry) error {
	if c.yes && c.app.output == outputJSON {
		return nil
	}
	e := c.app.err()
	if err := c.app.preview(e, s, shown, preview, c.notes); err != nil {
		return err
	}
	if c.yes {
		return e.Line("")
	}
	if err := e.Line(""); err != nil {
		return err
	}
	return c.app.ask(ctx, c.question+" (by "+show.Printable(preview.By)+")")
}

// ask asks on the terminal. Any other answer than yes is an error.
func (a *app) ask(ctx context.Context, question string) error {
	if _, err := fmt.Fprint(a.world.Err, question, " [y/N] "); err != nil {
		return err
	}
	answered := make(chan string, 1)
	go func() { // ends with the process if nobody answers
		line, _ := bufio.NewReader(a.world.In).ReadString('\n') // the end of the input is an answer, too: not yes
		answered <- line
	}()
	select {
	case answer := <-answered:
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		default:
			return errors.New("not confirmed; nothing was done")
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed adds to a refusal what is there now.
func (c *act) failed(s *source, shown operate.Shown, err error) error {
	if changed, ok := errors.AsType[*operate.ChangedError](err); ok {
		return c.refuse(&changedError{seen: shown.Record, now: changed.Shown, gone: changed.Gone, at: s.now()})
	}
	return err
}

// refuse shows what has changed, before the error is reported.
func (c *act) refuse(e *changedError) error {
	if c.app.output == outputJSON {
		return e // with both records, see [app.report]
	}
	if e.gone {
		return e
	}
	if err := c.app.err().Table(e.rows()); err != nil {
		return err
	}
	return e
}

// preview shows a record and what would become of it.
func (a *app) preview(p show.Printer, s *source, shown operate.Shown, preview operate.Entry, notes []string) error {
	i := inspectionOf(shown, derivedKeys(shown, nil))
	if err := p.Table(i.rows(s.now())); err != nil {
		return err
	}
	if err := p.Line(""); err != nil {
		return err
	}
	for _, line := range preview.Preview {
		if err := p.Line("- " + show.Printable(line)); err != nil {
			return err
		}
	}
	for _, note := range notes {
		if err := p.Line("! " + show.Printable(note)); err != nil {
			return err
		}
	}
	return nil
}

// dry prints what would happen.
func (a *app) dry(s *source, shown operate.Shown, preview operate.Entry, notes []string) error {
	if a.output == outputJSON {
		preview.Preview = append(preview.Preview, notes...)
		return a.json(preview)
	}
	if err := a.preview(a.out(), s, shown, preview, notes); err != nil {
		return err
	}
	return a.out().Line("\nNothing was changed: --dry-run.")
}

// done prints what was done.
func (a *app) done(entry operate.Entry, done string) error {
	if a.output == outputJSON {
		return a.json(entry)
	}
	rows := [][]show.Cell{
		show.Cells("Done", done),
		show.Cells("Record", entry.RecordKey),
		{{Text: "Was"}, {Text: string(entry.Before.State), Colour: stateColour(entry.Before.State)}},
	}
	if entry.Step != "" {
		rows = slices.Insert(rows, 2, show.Cells("Step", entry.Step))
	}
	if after := entry.After; after != nil {
		rows = append(rows,
			[]show.Cell{{Text: "Is"}, {Text: string(after.State), Colour: stateColour(after.State)}},
			show.Cells("Expires", show.Both(after.Expiry, entry.Time)))
		if len(after.Steps) > 0 {
			rows = append(rows, show.Cells("Keeps", stepCounts(after.Steps)))
		}
	}
	rows = append(rows, show.Cells("By", entry.By), show.Cells("Why", entry.Why), show.Cells("When", show.Instant(entry.Time)))
	return a.out().Table(rows)
}
