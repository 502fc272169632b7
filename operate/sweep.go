package operate

import (
	"context"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// SweepOperation is the operation of the records in which a sweep keeps how far it has come. No handler should have this name. A sweep
// leaves these records alone.
const SweepOperation = "idempotent.sweep"

// Sweeper goes through a whole store, for what no request meets: keys that crashed and that nobody retries, and what has expired where there
// is no time to live. Make it with [Sweep]; the zero value is not usable. It is immutable and safe for concurrent use: several may run
// at once, in one process or in many. One of them works, and the others say so.
type Sweeper struct {
	store  store.Store
	config SweepConfig
}

// Sweep returns a function for a schedule. Give Run to lambda.Start:
//
//	records := dynamo.New(client, table)
//	lambda.Start(operate.Sweep(records, operate.SweepConfig{
//		Effects: map[string]idempotent.Effects{"charge": idempotent.Unrepeatable},
//	}).Run)
//
// It reads every record of the store, page by page, at a bounded rate, and looks at these, by a consistent read of each:
//
//   - A record that is lapsed for [SweepConfig.Grace] is counted. If its operation refuses crashed executions, see [SweepConfig.Policies], it
//     becomes UNKNOWN, as the next request would make it. Any other stays as it is: the next request executes.
//   - A record that was UNKNOWN, and that somebody took over to settle it and died, becomes UNKNOWN again, whatever the policy.
//   - A record that has stopped between two steps is counted as abandoned once it is due, or lapsed: half of the work is done, and nobody goes on.
//   - A record that a version before the attention index left UNKNOWN gets its attention, so that [Operator.List] finds it.
//
// Each change is a compare-and-swap on the record as it was read. A renewal, a step, a completion or a takeover that comes before it wins, and
// the owner of a record that became UNKNOWN may still bring its result. A sweep never executes, releases or deletes a live record.
//
// How far it has come is kept in the store itself, after each page, under a lease: where a run ends, because its time is over or its process
// dies, the next one goes on.
//
// A wrong configuration panics with an [*idempotent.ConfigError].
func Sweep(s store.Store, c SweepConfig) *Sweeper {
	return &Sweeper{store: s, config: c.checked(s)}
}

// Run goes on with the pass through the store where it was left, or begins one, and then does the same for each of [SweepConfig.Expired]. It
// ends with the pass, or a little before the deadline of ctx: then Swept.Done is false, and the next Run goes on.
//
// If another sweep is at work on the same, Swept.BusyUntil says until when it has to show a sign of life, and nothing is done. That is no error.
//
// An error says that the store could not be read, or not be written, or that ctx was cancelled; the report is true all the same. A store
// that cannot list is [store.ErrNoListing]. What went wrong with a single record is in Swept.Problems, and the pass goes on.
func (s *Sweeper) Run(ctx context.Context) (Swept, error) {
	w := &sweep{
		Sweeper: s, looks: pace{rate: s.config.Rate}, reads: pace{rate: s.config.Rate}, writes: pace{rate: s.config.WriteRate},
	}
	w.swept = Swept{Began: s.config.Clock().UTC(), DryRun: s.config.DryRun, Operations: make(map[string]SweptOperation)}
	err := w.run(ctx)
	w.swept.Ended, w.swept.Err = s.config.Clock().UTC(), err
	report := w.swept.copied()
	if s.config.Observe != nil {
		s.config.Observe(ctx, report)
	}
	return report, err
}

// sweep is one run of a sweeper.
type sweep struct {
	*Sweeper

	swept Swept
	// looks paces the single reads of records, reads those and the pages together, writes the changes.
	looks, reads, writes pace
	// failing counts the records that failed one after the other.
	failing int
}

// errTimeOver ends a run a little before its deadline, which is no failure.
var errTimeOver = errors.New("operate: sweep: the time of the run is over")

// sweepReserve is what is kept of a run for saying how far it has come; of a short one a fifth.
const sweepReserve = 5 * time.Second

func (w *sweep) run(ctx context.Context) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if end, has := ctx.Deadline(); has {
		left := time.Until(end)
		limited, cancel = context.WithDeadlineCause(ctx, end.Add(-min(sweepReserve, left/5)), errTimeOver)
		defer cancel()
	}
	err := w.pass(limited)
	w.swept.Done = err == nil && !w.swept.Busy()
	if errors.Is(err, errTimeOver) {
		return nil
	}
	return err
}

// pass goes on with the pass that the cursor knows, or begins one.
func (w *sweep) pass(ctx context.Context) error {
	if w.config.DryRun {
		return w.records(ctx, "", nil)
	}
	c, err := w.takeCursor(ctx)
	if err != nil {
		return err
	}
	if c.taken() {
		w.swept.BusyUntil = c.until
		return nil
	}
	w.swept.From = c.state.After
	err = w.records(ctx, c.state.After, c)
	switch {
	case err == nil:
		err = c.complete(ctx)
	case !errors.Is(err, errSweepTaken):
		err = errors.Join(err, c.leave(ctx))
	}
	if errors.Is(err, errSweepTaken) {
		w.swept.BusyUntil = c.until
		return nil
	}
	return err
}

// told hands what was done so far to whoever wants to know.
func (w *sweep) told(ctx context.Context) {
	if w.config.Progress != nil {
		w.config.Progress(ctx, w.swept.copied())
	}
}
