package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// The bounds of a listing that nobody has to ask for.
const (
	// defaultRate is how many read units a second a listing takes.
	defaultRate = 500
	// askUnits is from how many read units on somebody has to agree.
	askUnits = 1000
	// chunk is how many rows are sorted and aligned at once.
	chunk = 500
	// stateAll stands for all states.
	stateAll = "all"
)

// listing is what was asked for.
type listing struct {
	app       *app
	states    []string
	operation string
	olderThan time.Duration
	since     string
	limit     int
	attention bool
	notDue    bool
	scan      bool
	rate      float64
	yes       bool

	// after is what since says.
	after time.Time
	// pages, read and units are what was read so far, listed is how many records were printed, unreadable how many of them cannot be
	// understood.
	pages, read, listed, unreadable int
	units                           float64
	cut                             bool
}

func (a *app) list() *cobra.Command {
	l := &listing{app: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists what somebody has to settle, or the records in other states",
		Long: `Lists what somebody has to settle: the records whose outcome is unknown, and those that have stopped between two steps and that
nobody has retried for an hour ("released, with steps"). They are found through an index, which holds no others. --not-due adds
records that have stopped between two steps less than an hour ago: as a rule the client retries, and they go on.

Records in other states are in no index, and neither are those that a version before the index left unknown. --scan finds them by
reading the whole table, page by page, at no more than --rate read units a second. What a listing reads is told before, on standard error; if
it is much, somebody has to agree.

What is listed may be stale: inspect shows the record itself.`,
		Example: `  idempotent list --table idempotency
  idempotent list --older-than 1h --operation charge -o json
  idempotent list --state lapsed,released --scan --rate 100
  idempotent list --state all --scan --demo`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) }),
	}
	f := cmd.Flags()
	f.StringSliceVar(&l.states, "state", nil, "records in these `states` only: "+strings.Join(stateNames(), ", ")+", or all")
	f.BoolVar(&l.attention, "attention", false, "only what the index has or would have, also with --scan")
	f.BoolVar(&l.notDue, "not-due", false, "records with steps, too, that were released less than an hour ago")
	f.StringVar(&l.operation, flagOperation, "", "records of the operation with this `name` only")
	f.DurationVar(&l.olderThan, "older-than", 0, "records that have waited, or were created, for at least this `time` ago, such as 1h30m")
	f.StringVar(&l.since, "since", "", "records that wait, or were created, since this `time`: RFC 3339, or a duration such as 2h")
	f.IntVar(&l.limit, "limit", 0, "stop after this `number` of records; 0 for all")
	f.BoolVar(&l.scan, "scan", false, "allow reading the whole table")
	f.Float64Var(&l.rate, "rate", defaultRate, "read at most this `number` of read units a second; 0 for no limit")
	f.BoolVarP(&l.yes, "yes", "y", false, "do not ask, however much is read")
	must(cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(append(stateNames(), stateAll), cobra.ShellCompDirectiveNoFileComp)))
	noCompletion(cmd, flagOperation, "older-than", "since", "limit", "rate")
	return cmd
}

func stateNames() []string {
	states := operate.States()
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return names
}

func (l *listing) run(ctx context.Context) error {
	if err := l.check(); err != nil {
		return err
	}
	s, err := l.app.open(ctx)
	if err != nil {
		return err
	}
	if l.after, err = since(l.since, s.now()); err != nil {
		return err
	}
	q := operate.Query{
		States: l.wanted(), NotDue: l.notDue, Operation: l.operation, OlderThan: l.olderThan, Scan: l.scan, Rate: l.rate,
		Page: func(p store.Page) { l.pages, l.read, l.units = l.pages+1, l.read+p.Records, l.units+p.Units },
	}
	if err := l.agree(ctx, s, q); err != nil {
		return err
	}
	if err := l.print(ctx, s, q); err != nil {
		return err
	}
	return l.sum()
}

// check finds what can be wrong before anything is read.
func (l *listing) check() error {
	for _, s := range l.states {
		if s != stateAll && !slices.Contains(stateNames(), s) {
			return usagef("--state %q is none of %s, all", s, strings.Join(stateNames(), ", "))
		}
	}
	_, err := since(l.since, time.Time{})
	switch {
	case err != nil:
		return err
	case l.attention && len(l.states) > 0:
		return usagef("--attention and --state contradict each other: records with attention are unknown, or released with steps")
	case l.notDue && len(l.states) > 0:
		return usagef("--not-due and --state contradict each other: --state lists all records in these states")
	case l.limit < 0:
		return usagef("--limit %d is negative", l.limit)
	case l.rate < 0:
		return usagef("--rate %v is negative", l.rate)
	case l.olderThan < 0:
		return usagef("--older-than %s is negative", l.olderThan)
	case len(l.states) > 0 && !l.scan && !slices.Equal(l.states, []string{string(operate.StateUnknown)}):
		return usagef("only unknown records, and those released with steps, are in the index: --scan finds others by reading the whole table")
	default:
		return nil
	}
}

// since reads a time, or a duration before now.
func since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usagef("--since %q is neither a time of RFC 3339 nor a duration such as 2h", text)
	}
	return t, nil
}

// wanted are the states that were asked for, none for what somebody has to settle.
func (l *listing) wanted() []operate.State {
	if slices.Contains(l.states, stateAll) {
		return operate.States()
	}
	states := make([]operate.State, len(l.states))
	for i, s := range l.states {
		states[i] = operate.State(s)
	}
	return states
}

// agree tells what the listing reads, and asks if it is much.
func (l *listing) agree(ctx context.Context, s *source, q operate.Query) error {
	cost, err := s.operator.Cost(ctx, q)
	if err != nil {
		return l.unknownCost(err)
	}
	if err := l.app.err().Line(l.told(cost)); err != nil {
		return err
	}
	if cost.Units < askUnits || l.yes {
		return nil
	}
	if !l.app.world.InTerminal {
		return usagef("this reads more than %d read units: add --yes if you mean it", askUnits)
	}
	return l.app.ask(ctx, "Read it?")
}

// unknownCost goes on where only the look at the size is not allowed, if somebody has agreed to whatever it is.
func (l *listing) unknownCost(err error) error {
	failed, ok := errors.AsType[*store.Error](err)
	if !ok || failed.Kind != store.FailureAccessDenied {
		return err
	}
	if l.scan && !l.yes {
		return usagef("how much this reads cannot be told, because dynamodb:DescribeTable is not allowed: add --yes if you mean it")
	}
	return l.app.err().Line("How much this reads cannot be told: dynamodb:DescribeTable is not allowed.")
}

// told is what a listing reads, in words.
func (l *listing) told(c store.Cost) string {
	what := "Reads the whole table"
	if c.Indexed {
		what = "Reads the index of records with attention"
	}
	if c.Units == 0 {
		return fmt.Sprintf("%s: %s.", what, count(c.Records, "record"))
	}
	about, hours := "", ""
	if !c.Exact {
		about, hours = "about ", ", by a count that may be six hours old"
	}
	text := fmt.Sprintf("%s: %s%s in %s, %s%s", what, about, count(c.Records, "record"), count(c.Pages, "page"),
		decimal(c.Units), " read units")
	if l.rate > 0 {
		if d := time.Duration(c.Units / l.rate * float64(time.Second)); d >= time.Second {
			text += fmt.Sprintf(", %s at --rate %s", d.Truncate(time.Second), decimal(l.rate))
		}
	}
	return text + hours + "."
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
