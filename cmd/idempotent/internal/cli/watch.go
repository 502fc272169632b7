package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/watch"
	"github.com/go-idempotent/idempotent/operate"
)

// watching is a live view.
type watching struct {
	app    *app
	groups []string
	filter string
	every  time.Duration

	tally *watch.Tally
	tail  *watch.Tail
	// opened has what was last found open; nil without a table.
	opened  chan watch.Open
	open    *watch.Open
	screen  show.Screen
	reading chan error
	ended   bool
}

// redraw is how often a terminal is drawn anew.
const redraw = 500 * time.Millisecond

// The bounds of --every.
const (
	defaultEvery  = 30 * time.Second
	shortestEvery = time.Second
)

// maxGroups is how many log groups a live tail reads.
const maxGroups = 10

func (a *app) watch() *cobra.Command {
	w := &watching{app: a}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Shows what happens now: outcomes from log lines, and what is open",
		Long: `Shows what happens now: what handlers do, from the lines that observe.EMF and observe.Slog write, and, with --table, what waits for somebody.
Pipe the lines into it, or name log groups with --log-group for a live tail by CloudWatch Logs, which costs by the minute.

Lines may have prefixes, as aws logs tail writes them. Lines of somebody else are counted and skipped. If a handler writes lines of both
observers, those of observe.EMF are counted. The numbers are of lines as they come: "minute" is the last one of this clock.

On a terminal the view is drawn in place until Ctrl-C. Elsewhere it is a line each --every, and one at the end; with -o json an object.

What is said loudly, behind "!!", comes first: no line comes, lines cannot be understood, a live tail leaves lines out, or the table cannot be
listed. The table is listed through its index each --every.`,
		Example: `  idempotent watch --demo
  aws logs tail --follow /aws/lambda/charge | idempotent watch --table idempotency
  idempotent watch --log-group /aws/lambda/charge --log-group /aws/lambda/orders --table idempotency
  idempotent watch --every 1m -o json < lines.log`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error { return w.run(cmd.Context()) }),
	}
	f := cmd.Flags()
	f.StringArrayVar(&w.groups, "log-group", nil, "read the live tail of the log group with this `name` or ARN; may be repeated")
	f.StringVar(&w.filter, "filter-pattern", "", "only lines that match this `pattern` of CloudWatch Logs, with --log-group")
	f.DurationVar(&w.every, "every", defaultEvery, "the `time` between two listings of the table, and between two lines where there is no terminal")
	noCompletion(cmd, "log-group", "filter-pattern", "every")
	return cmd
}

func (w *watching) check() error {
	switch a := w.app; {
	case a.demo && len(w.groups) > 0:
		return usagef("--demo and --log-group contradict each other: the demo makes its own lines")
	case len(w.groups) > maxGroups:
		return usagef("--log-group: %d log groups are more than the %d of a live tail", len(w.groups), maxGroups)
	case w.filter != "" && len(w.groups) == 0:
		return usagef("--filter-pattern needs --log-group")
	case w.every < shortestEvery:
		return usagef("--every %s is shorter than %s", w.every, shortestEvery)
	case !a.demo && len(w.groups) == 0 && a.world.InTerminal:
		return usagef("there are no lines to read: pipe them in, as with aws logs tail --follow GROUP | idempotent watch, or set --log-group, or try --demo")
	default:
		return nil
	}
}

func (w *watching) run(ctx context.Context) (err error) {
	if err := w.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.tally, w.reading = watch.NewTally(w.app.world.Now), make(chan error, 1)
	if err := w.begin(ctx); err != nil {
		return err
	}
	w.screen = show.Screen{Printer: w.app.out()}
	defer func() {
		if end := w.screen.End(); err == nil {
			err = end
		}
		if err == nil {
			err = w.print() // what stays
		}
	}()
	return w.loop(ctx)
}

// begin starts what reads and what lists. Both end with the context, or with the process where a read does not end.
func (w *watching) begin(ctx context.Context) error {
	a := w.app
	switch {
	case a.demo:
		return w.beginDemo(ctx)
	case len(w.groups) > 0:
		if err := w.openTail(ctx); err != nil {
			return err
		}
		go func() { w.reading <- w.tail.Run(ctx, w.tally.Add) }()
	default:
		go func() { w.reading <- watch.Read(a.world.In, w.tally.Add) }()
	}
	if a.target.Table == "" {
		return nil
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	w.beginListing(ctx, s.operator)
	return nil
}

// beginDemo makes lines with the records of the demo, as if they had been made just now.
func (w *watching) beginDemo(ctx context.Context) error {
	now := w.app.world.Now
	s, err := demo.Store(ctx, now())
	if err != nil {
		return err
	}
	go func() { w.reading <- demo.Lines(ctx, s, func(line []byte) { w.tally.Add(line, false) }) }()
	w.app.target = connect.Target{}
	w.beginListing(ctx, operate.New(s, operate.WithClock(now)))
	return nil
}

func (w *watching) beginListing(ctx context.Context, o *operate.Operator) {
	w.opened, w.open = make(chan watch.Open), &watch.Open{Name: w.app.name()}
	go w.list(ctx, o, *w.open)
}

func (w *watching) openTail(ctx context.Context) error {
	logs, err := connect.OpenLogs(ctx, w.app.target)
	if err != nil {
		return err
	}
	groups, err := logs.Groups(ctx, w.groups)
	if err != nil {
		return err
	}
	w.tail = &watch.Tail{Client: logs.Client, Groups: groups, Filter: w.filter, Now: w.app.world.Now, Sentence: cause}
	return nil
}

// list asks the table what is open, again and again, until the context ends.
func (w *watching) list(ctx context.Context, o *operate.Operator, open watch.Open) {
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, max(w.every, defaultEvery))
		open = open.List(limited, o, w.app.world.Now, w.app.sentence)
		cancel()
		select {
		case w.opened <- open:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// loop shows the view until the lines end, or somebody ends it.
func (w *watching) loop(ctx context.Context) error {
	every := w.every
	var suspended <-chan os.Signal
	if w.onScreen() {
		every = redraw
		pressed, end := suspensions()
		defer end()
		suspended = pressed
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if w.onScreen() {
			if err := w.draw(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.reading:
			w.ended = ctx.Err() == nil
			return err
		case open := <-w.opened:
			w.open = &open
			continue
		case <-suspended:
			if err := errors.Join(w.screen.End(), suspend()); err != nil {
				return err
			}
			continue // draws anew
		case <-ticker.C:
		}
		if !w.onScreen() {
			if err := w.print(); err != nil {
				return err
			}
		}
	}
}

// onScreen reports whether the view is drawn in place.
func (w *watching) onScreen() bool {
	world := w.app.world
	return world.OutTerminal && w.app.output != outputJSON && world.Getenv("TERM") != "dumb"
}

func (w *watching) view() watch.View {
	v := w.tally.View()
	v.Open, v.Ended = w.open, w.ended
	if w.tail != nil {
		v.Tail = w.tail.State()
	}
	return v
}

// The size of a terminal that does not tell it.
const (
	defaultColumns = 80
	defaultLines   = 24
)

func (w *watching) draw() error {
	columns, lines, err := w.app.world.OutSize()
	if err != nil || columns < 1 || lines < 1 {
		columns, lines = defaultColumns, defaultLines
	}
	v := w.view()
	return w.screen.Draw(v.Frame(columns, lines), columns)
}

// print prints the view as it is now, in one line.
func (w *watching) print() error {
	v := w.view()
	if w.app.output == outputJSON {
		return w.app.json(v.Report())
	}
	return w.app.out().Line(show.Printable(v.Line()))
}
