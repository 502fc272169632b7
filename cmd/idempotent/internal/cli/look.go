package cli

import (
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

const stateAll = "all"

type listing struct {
	app       *app
	states    []string
	operation string
	olderThan time.Duration
	limit     int
	scan      bool
	rate      float64

	// wanted are the states, read is what was read so far.
	wanted []operate.State
	read   store.Cost
}

func (a *app) list() *cobra.Command {
	l := &listing{app: a, read: store.Cost{Exact: true}}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists what somebody has to settle, or the records in other states",
		Long: `Lists what somebody has to settle, the oldest first: the records whose
outcome is unknown, those whose process died and whose handler refuses to
repeat that, and those that have stopped between two steps and that nobody
has retried for an hour ("released, with steps"). They are found through an
index. --state released adds what has stopped less than an hour ago: as a
rule the client retries, and it goes on.

Records in other states are in no index. --scan finds them by reading the
whole table, page by page, at no more than --rate read units a second. What
a listing reads is told before, on standard error.

SINCE is when the record became what it is, ATTEMPT counts its executions, and
ASKED how often a reconciliation has asked about it without an answer. What is
listed may be stale: inspect shows the record itself.`,
		Example: `  idempotent list --table idempotency
  idempotent list --older-than 1h --operation charge -o json
  idempotent list --state crashed --scan --rate 100
  idempotent list --state all --scan --demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&l.states, "state", nil, "only these `states`: "+stateNames()+", or all")
	f.StringVar(&l.operation, "operation", "", "only records of the operation with this `name`")
	f.DurationVar(&l.olderThan, "older-than", 0, "only what waits, or is there, for this `time`, such as 1h30m")
	f.IntVar(&l.limit, "limit", 0, "the oldest of them, up to this `number`; 0 for all")
	f.BoolVar(&l.scan, "scan", false, "allow reading the whole table")
	f.Float64Var(&l.rate, "rate", 500, "read at most this `number` of read units a second; 0 for no limit")
	return cmd
}

func stateNames() string {
	names := make([]string, 0, len(operate.States()))
	for _, s := range operate.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func (l *listing) run(ctx context.Context) error {
	if err := l.check(); err != nil {
		return err
	}
	l.app.lists = true
	if err := l.app.open(ctx); err != nil {
		return err
	}
	q := operate.Query{
		NotDue: !l.scan, Operation: l.operation, OlderThan: l.olderThan, Scan: l.scan, Rate: l.rate,
		Page: func(p store.Page) { l.read.Pages++; l.read.Records += int64(p.Records); l.read.Units += p.Units },
	}
	if l.scan { // else what is not due is counted, and listed if somebody wants released ones
		q.States = l.wanted
	}
	if err := l.tell(ctx, q); err != nil {
		return err
	}
	lines, err := show.List(ctx, l.app.operator, q)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(slices.Clone(lines), func(r show.Line) bool {
		return !l.scan && (len(l.states) == 0 && !r.Due || len(l.states) > 0 && !slices.Contains(l.wanted, r.State))
	})
	if err := l.print(found); err != nil {
		return err
	}
	return l.app.err().Line(l.sum(found, len(lines)-len(found)))
}

// check finds what can be wrong before anything is read.
func (l *listing) check() error {
	for _, name := range l.states {
		s := operate.State(name)
		switch {
		case name != stateAll && !slices.Contains(operate.States(), s):
			return usagef("--state %q is none of %s, all", name, stateNames())
		case !l.scan && s != operate.StateUnknown && s != operate.StateReleased:
			return usagef("only unknown records, and those released with steps, are in the index: --scan finds " +
				"others by reading the whole table")
		}
		l.wanted = append(l.wanted, s)
	}
	if slices.Contains(l.states, stateAll) {
		l.wanted = operate.States()
	}
	switch {
	case l.limit < 0:
		return usagef("--limit %d is negative", l.limit)
	case l.rate < 0:
		return usagef("--rate %v is negative", l.rate)
	case l.olderThan < 0:
		return usagef("--older-than %s is negative", l.olderThan)
	}
	return nil
}

// tell tells what the listing reads.
func (l *listing) tell(ctx context.Context, q operate.Query) error {
	cost, err := l.app.operator.Cost(ctx, q)
	if failed, is := errors.AsType[*store.Error](err); is && failed.Kind == store.FailureAccessDenied {
		return l.app.err().Line("How much this reads cannot be told: dynamodb:DescribeTable is not allowed.")
	}
	if err != nil {
		return err
	}
	what := "Reads the whole table: " + show.Cost(cost, l.rate)
	if cost.Indexed {
		what = "Reads the index of records with attention, and then each of them: " + show.Cost(cost, l.rate)
	}
	return l.app.err().Line(what + ".")
}

func (l *listing) print(rows []show.Line) error {
	if l.limit > 0 {
		rows = rows[:min(len(rows), l.limit)]
	}
	table := append(make([][]show.Cell, 0, 1+len(rows)),
		show.Cells("STATE", "REASON", "SINCE", "", "ATTEMPT", "ASKED", "RECORD KEY"))
	for _, r := range rows {
		state, reason := show.Cell{Text: string(r.State), Colour: show.StateColour(r.State)}, r.Because()
		if r.Error != "" {
			state, reason = show.Cell{Text: "unreadable", Colour: show.Red}, r.Error
		}
		table = append(table, append([]show.Cell{state}, show.Cells(reason, show.Instant(r.Since),
			show.Relative(r.Since, l.app.world.Now()), show.Number(r.Attempt), show.Number(r.Tries), r.RecordKey)...))
	}
	return printAll(l.app, rows, table)
}

// sum says what was found, what was left out, and what was read.
func (l *listing) sum(found []show.Line, leftOut int) string {
	text, unreadable := show.Count(len(found), "record"), 0
	for _, r := range found {
		if r.Error != "" {
			unreadable++
		}
	}
	switch {
	case l.limit > 0 && len(found) > l.limit:
		text += fmt.Sprintf(", of which --limit left out %d, the youngest", len(found)-l.limit)
	case len(found) == 0:
		text = "No records"
	}
	if leftOut > 0 && len(l.states) == 0 {
		text += fmt.Sprintf(", and %d not due: --state released lists what has stopped between two steps", leftOut)
	}
	if unreadable > 0 {
		text += fmt.Sprintf(", %d of them cannot be understood", unreadable)
	}
	if l.read.Units > 0 {
		text += " (read " + show.Cost(l.read, 0) + ")"
	}
	return text + "."
}

func (a *app) inspect() *cobra.Command {
	var result bool
	var step string
	var derived []string
	cmd := &cobra.Command{
		Use:   "inspect KEY",
		Short: "Shows one record: what happened, and what the next retry gets",
		Long: `Shows one record: what happened to it, and what the next retry of the client
gets.

KEY is a record key, or a derived key: the one that another service has seen.

The derived keys are what the handler passed to other services: search for
the charge with them. Their names are those that the handler gives to
DerivedKey, and those of its steps; where the record does not know them, it
says so, and --derived NAME computes one; of a derived key it is a name to try.

The stored result is shown with --result only: it is what the client got,
and may be personal. So is the result of a step, with --step NAME.

Seen is a text for --seen of settle and delete: they then do nothing if the
record has changed since.`,
		Example: `  idempotent inspect 'charge#JKJaXmPLvHcESHA' --table idempotency
  idempotent inspect 'charge#JKJaXmPLvHcESHA' --result -o json | jq .result
  idempotent inspect charge#result-lost --demo
  idempotent inspect order#stopped --step reserve --demo`,
		Args: oneKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			ofStep := cmd.Flags().Changed("step")
			switch {
			case ofStep && result:
				return usagef("--result and --step contradict each other: a record with a result has no steps any more")
			case ofStep && step == "":
				return usagef("--step is empty")
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			shown, err := a.read(cmd.Context(), args[0], derived...)
			if err != nil {
				return err
			}
			i := show.Inspect(shown, derived...)
			i.Where, i.ResultOfStep = a.place, step
			var stored []byte
			switch {
			case result:
				stored, err = a.operator.Result(cmd.Context(), shown)
			case ofStep:
				stored, err = a.operator.StepResult(cmd.Context(), shown, step)
			default:
				return a.show(&i)
			}
			if err != nil {
				return err
			}
			i.WithResult(stored)
			return a.show(&i)
		},
	}
	cmd.Flags().BoolVar(&result, flagResult, false, "show the stored result, too")
	cmd.Flags().StringVar(&step, "step", "", "show the recorded result of the step with this `name`, too")
	cmd.Flags().StringSliceVar(&derived, "derived", nil, "compute the derived key of this `name`, too; may be repeated")
	return cmd
}

func (a *app) read(ctx context.Context, key string, names ...string) (shown operate.Shown, err error) {
	if shown, err = a.operator.Inspect(ctx, key); !errors.Is(err, operate.ErrNotFound) {
		return shown, err
	}
	text := "there is no record of this key: it was never written, or was released, or has expired and was deleted"
	if !strings.Contains(key, "#") {
		shown, _, err = a.operator.FindDerived(ctx, "", key, names...)
	}
	switch {
	case err == nil:
		return shown, nil
	case errors.Is(err, operate.ErrInput):
		text = "there is no such record: a record key is <operation>#<digest>, and \"idempotent key\" computes it " +
			"from what a client sent"
	case !errors.Is(err, operate.ErrNotFound):
		return shown, err
	case !strings.Contains(key, "#"):
		text = "no record that somebody has to settle is known to have handed out this derived key. --derived NAME " +
			"tries a name that the handler passes to DerivedKey. Any other record is found by what the client sent: " +
			"idempotent key --help"
	}
	return shown, said(operate.ErrNotFound, "%s", text)
}

func (a *app) show(i *show.Inspection) error {
	if a.output == outputJSON {
		return a.json(i)
	}
	if err := tell(a.out(), i, a.world.Now()); err != nil {
		return err
	}
	switch {
	case i.Result != nil:
		return a.out().Line("\n" + show.Document(string(i.Result)))
	case i.ResultText != nil:
		return a.out().Line("\n" + show.Document(*i.ResultText))
	}
	return nil
}

// tell prints a record with its story.
func tell(p show.Printer, i *show.Inspection, now time.Time) error {
	timeline := i.Timeline()
	moments := make([][]show.Cell, 0, len(timeline))
	for _, m := range timeline {
		moments = append(moments, []show.Cell{
			{Text: show.Instant(m.At)},
			{Text: show.Relative(m.At, now)},
			{Text: m.What, Colour: m.Colour},
		})
	}
	return errors.Join(p.Table(factsOf(i)), p.Line("\nWhat happened"), p.Table(moments))
}

// factsOf are a record as it is, for people.
func factsOf(i *show.Inspection) (rows show.Rows) {
	rows.Add("Record", i.RecordKey)
	rows.AddIn(show.StateColour(i.State), "State", string(i.State)+": "+i.Meaning())
	rows = append(rows, i.Facts()...)
	for _, s := range i.Steps {
		means := s.Name + ": " + show.StepMeaning(s)
		if show.HasResult(s) {
			means += "; --step " + s.Name + " shows it"
		}
		rows.Add("Step", means)
	}
	if result := i.HasResult(); result != "" {
		rows.Add("Result", result+"; --result shows it")
	}
	rows.Add("Seen", i.Seen)
	if i.Due {
		rows.Add("To settle it", "idempotent settle --help")
	}
	return rows
}
