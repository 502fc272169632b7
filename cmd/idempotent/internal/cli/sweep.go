package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

// sweepEvery is how often a sweep says how far it has come, unless a terminal shows it in place.
const sweepEvery = 10 * time.Second

// sweeping is what was asked for.
type sweeping struct {
	app                    *app
	policies               map[string]string
	reason, by             string
	rate, writeRate        float64
	grace                  time.Duration
	dryRun, restart, agree bool

	// said is when it was said last how far the sweep has come.
	said time.Time
}

func (a *app) sweep() *cobra.Command {
	s := &sweeping{app: a}
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Goes through the whole table, for what crashed and nobody retries",
		Long: `Goes through the whole table, page by page, at a bounded rate. It counts, by operation, the records whose execution ended without saying
how and that no request has come for since ("lapsed"), and those that have stopped between two steps and that nobody goes on with
("abandoned"). Records that were unknown, and whose settlement was cut off, become unknown again. Those that an early version left
unknown are put on the list.

--policy OPERATION=refuse lets lapsed records of an operation become unknown, as the next request would do if the handler has
WithCrashPolicy(Refuse): then list shows them. Of any other operation they stay, and the next request executes.

How far it has come is kept in the table, in a record of the operation "idempotent.sweep". Interrupt it, or kill it: the next sweep goes on
from there, at once or when its lease has ended. Two do not run at once; exit code 4 says that another one is at work.`,
		Example: `  idempotent sweep --table idempotency --dry-run
  idempotent sweep --policy charge=refuse --reason 'ticket 4711: find what crashed in the outage'`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) }),
	}
	f := cmd.Flags()
	f.StringToStringVar(&s.policies, "policy", nil, "the crash policy of an operation, `OPERATION=refuse`; may be repeated")
	f.StringVar(&s.reason, "reason", "", "why, for the audit `text`; required with --policy")
	f.StringVar(&s.by, "by", "", "who; by default the ARN of your credentials, or your user on this machine if AWS is not asked")
	f.Float64Var(&s.rate, "rate", operate.DefaultSweepRate, "read at most this `number` of read units a second; 0 for no limit")
	f.Float64Var(&s.writeRate, "write-rate", operate.DefaultSweepWriteRate, "write at most this `number` of write units a second; 0 for no limit")
	f.DurationVar(&s.grace, "grace", operate.DefaultSweepGrace, "for how long a lease has ended before the record counts as lapsed, a `time`")
	f.BoolVar(&s.dryRun, "dry-run", false, "read and count everything, and change nothing")
	f.BoolVar(&s.restart, "restart", false, "begin anew, wherever the last sweep has stopped")
	f.BoolVarP(&s.agree, "yes", "y", false, "do not ask; needed if standard input is no terminal, unless with --dry-run")
	f.Lookup("policy").DefValue = "" // not "[]"
	noCompletion(cmd, "policy", "reason", "by", "rate", "write-rate", "grace")
	return cmd
}

func (s *sweeping) run(ctx context.Context) error {
	c, err := s.config()
	if err != nil {
		return err
	}
	src, err := s.app.open(ctx)
	if err != nil {
		return err
	}
	by := ""
	if len(c.Policies) > 0 && !s.dryRun {
		if by, err = s.app.who(ctx, src, s.by); err != nil {
			return err
		}
	}
	if err := s.ask(ctx, src, by); err != nil {
		return err
	}
	c.Clock = src.now
	c.Progress = s.progress
	swept, err := operate.Sweep(src.records, c).Run(ctx)
	return errors.Join(s.print(swept, by), s.verdict(swept, err))
}

// config finds what can be wrong before anything is read.
func (s *sweeping) config() (operate.SweepConfig, error) {
	c := operate.SweepConfig{
		Policies: make(map[string]idempotent.CrashPolicy), Grace: s.grace,
		Rate: unlimited(s.rate), WriteRate: unlimited(s.writeRate), DryRun: s.dryRun, Restart: s.restart,
	}
	for _, operation := range slices.Sorted(maps.Keys(s.policies)) {
		switch {
		case operation == "" || operation == operate.SweepOperation:
			return c, usagef("--policy: %q is no operation of a handler", operation)
		case s.policies[operation] == policyRefuse:
			c.Policies[operation] = idempotent.Refuse
		case s.policies[operation] == "reexecute":
			c.Policies[operation] = idempotent.Reexecute
		default:
			return c, usagef("--policy %s=%s: the policy is neither refuse nor reexecute", operation, s.policies[operation])
		}
	}
	switch {
	case !(s.rate >= 0 && s.writeRate >= 0): // nor NaN
		return c, usagef("--rate %v and --write-rate %v: both are numbers, and neither may be negative", s.rate, s.writeRate)
	case s.grace <= 0:
		return c, usagef("--grace %s: it has to be positive", s.grace)
	case len(s.policies) > 0 && !s.dryRun && strings.TrimSpace(s.reason) == "":
		return c, usagef("--reason is missing: say why records become unknown")
	case !s.agree && !s.dryRun && !s.app.world.InTerminal:
		return c, usagef("standard input is no terminal, so nobody can be asked: add --yes, or --dry-run to see what would happen")
	default:
		return c, nil
	}
}

// policyRefuse is how the flag calls [idempotent.Refuse].
const policyRefuse = "refuse"

// unlimited is a rate as a sweep takes it.
func unlimited(rate float64) float64 {
	if rate == 0 {
		return math.Inf(1)
	}
	return rate
}

// ask tells what the sweep reads and does, and asks.
func (s *sweeping) ask(ctx context.Context, src *source, by string) error {
	l := &listing{app: s.app, scan: true, rate: s.rate, yes: s.agree || s.dryRun}
	e := s.app.err()
	cost, err := src.operator.Cost(ctx, operate.Query{Scan: true})
	if err == nil {
		err = e.Line(l.told(cost))
	} else {
		err = l.unknownCost(err)
	}
	if err != nil {
		return err
	}
	for _, line := range s.does() {
		if err := e.Line("- " + show.Printable(line)); err != nil {
			return err
		}
	}
	much := cost.Units >= askUnits
	switch {
	case s.agree, s.dryRun && !much:
		return nil
	case !s.app.world.InTerminal:
		return usagef("this reads more than %d read units: add --yes if you mean it", askUnits)
	case by != "":
		return s.app.ask(ctx, "Sweep it? (by "+show.Printable(by)+")")
	default:
		return s.app.ask(ctx, "Sweep it?")
	}
}

// does says what the sweep does beside reading, in sentences.
func (s *sweeping) does() (lines []string) {
	if s.dryRun {
		return []string{"Nothing is changed: --dry-run."}
	}
	for _, operation := range slices.Sorted(maps.Keys(s.policies)) {
		if s.policies[operation] == policyRefuse {
			lines = append(lines, fmt.Sprintf("Lapsed records of %q become unknown: requests with their keys are refused until somebody settles them.", operation))
		}
	}
	return lines
}

// progress says on standard error how far the sweep has come.
func (s *sweeping) progress(_ context.Context, swept operate.Swept) {
	text := fmt.Sprintf("%s read in %s, %s read units",
		count(int64(swept.Records), "record"), count(int64(swept.Pages), "page"), decimal(swept.ReadUnits))
	if s.app.world.ErrTerminal && s.app.output != outputJSON {
		_, _ = fmt.Fprintf(s.app.world.Err, "\r\x1b[K%s", text)
		s.said = time.Now()
		return
	}
	if now := time.Now(); now.Sub(s.said) >= sweepEvery {
		s.said = now
		_ = s.app.err().Line(text) // there is nowhere else to say it
	}
}

// sweptLine is the report of a sweep for programs.
type sweptLine struct {
	operate.Swept

	By  string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
}

func (s *sweeping) print(swept operate.Swept, by string) error {
	if s.app.output == outputJSON {
		return s.app.json(sweptLine{swept, by, s.reason})
	}
	if s.app.world.ErrTerminal && !s.said.IsZero() {
		if err := s.app.err().Line(""); err != nil {
			return err
		}
	}
	if swept.BusyUntil.IsZero() || swept.Records > 0 {
		if err := s.table(swept); err != nil {
			return err
		}
	}
	return s.sum(swept, by)
}

// table shows what was found.
func (s *sweeping) table(swept operate.Swept) error {
	rows := make([][]show.Cell, 0, 1+len(swept.Operations))
	rows = append(rows, show.Cells("OPERATION", "LAPSED", "BECAME UNKNOWN", "ABANDONED", "LISTED"))
	for _, operation := range slices.Sorted(maps.Keys(swept.Operations)) {
		o := swept.Operations[operation]
		name := operation
		if name == operate.OtherOperations {
			name = "(others)"
		}
		rows = append(rows, show.Cells(name, strconv.Itoa(o.Lapsed), strconv.Itoa(o.BecameUnknown), strconv.Itoa(o.Abandoned), strconv.Itoa(o.Listed)))
	}
	if len(rows) > 1 {
		return s.app.out().Table(rows)
	}
	return nil
}

// sum says on standard error what was read, and what else there is to know.
func (s *sweeping) sum(swept operate.Swept, by string) error {
	e := s.app.err()
	lines := []string{fmt.Sprintf("Read %s in %s, %s read units.", count(int64(swept.Records), "record"), count(int64(swept.Pages), "page"), decimal(swept.ReadUnits))}
	if swept.Resumed {
		lines[0] = "Went on where the last sweep has stopped. " + lines[0]
	}
	if len(swept.Operations) == 0 && swept.Done && !swept.Resumed {
		lines = append(lines, "Nothing has lapsed, and nothing is abandoned.")
	}
	for _, c := range []struct {
		n    int
		what string
	}{
		{swept.Changed, "changed between the look and the write, and were left alone"},
		{swept.Foreign, "were written by AWS Powertools, and were left alone"},
		{swept.Unreadable, "cannot be understood"},
		{swept.Errors, "could not be read or written"},
	} {
		if c.n > 0 {
			lines = append(lines, fmt.Sprintf("Records that %s: %d.", c.what, c.n))
		}
	}
	for _, operation := range slices.Sorted(maps.Keys(s.policies)) {
		switch _, found := swept.Operations[operation]; {
		case found && by != "" && s.policies[operation] == policyRefuse:
			lines = append(lines, fmt.Sprintf("By %s, for %q: %s became unknown, because %q.", by, operation,
				count(int64(swept.Operations[operation].BecameUnknown), "record"), s.reason))
		case !found && swept.Done && !swept.Resumed:
			lines = append(lines, fmt.Sprintf("Nothing of %q has lapsed.", operation))
		}
	}
	for _, p := range swept.Problems {
		lines = append(lines, show.Printable(fmt.Sprintf("! %s: %s", p.RecordKey, cause(p.Err))))
	}
	switch {
	case swept.DryRun:
		lines = append(lines, "Nothing was changed: --dry-run.")
	case !swept.Done && !swept.Busy():
		lines = append(lines, "It has not come to its end: the next sweep goes on from here.")
	}
	for _, line := range lines {
		if err := e.Line(line); err != nil {
			return err
		}
	}
	return nil
}

// verdict is the error of the command.
func (s *sweeping) verdict(swept operate.Swept, err error) error {
	switch {
	case err != nil:
		return err
	case swept.Busy():
		return &busyError{swept.BusyUntil}
	case swept.Errors > 0:
		return fmt.Errorf("%s could not be read or written; the next sweep comes to them again", count(int64(swept.Errors), "record"))
	default:
		return nil
	}
}

// busyError is a sweep that met another one.
type busyError struct{ until time.Time }

func (e *busyError) Error() string {
	return fmt.Sprintf("another sweep is at work, or was killed: if it shows no sign of life until %s, the next sweep goes on in its place",
		e.until.UTC().Format(time.RFC3339))
}

// Is reports whether target is [operate.ErrChanged].
func (*busyError) Is(target error) bool { return target == operate.ErrChanged }
