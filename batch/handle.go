package batch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/report"
)

// one runs a record, when its turn has come: copies of it, which have the same key, run one after
// the other. There is always time to wait for another execution of the record, if that is all.
func (b *batch[R, Out]) one(ctx context.Context, rec queue.Record[R], t turn, waits bool) end {
	t.wait()
	defer t.leave()
	if b.late(ctx) && !waits {
		return end{outcome: report.RecordNotBegun, again: true}
	}
	outcome, err := b.handle(ctx, rec, waits)
	e := end{outcome: outcome, err: err}
	switch outcome {
	case report.RecordSucceeded:
	case report.RecordTerminal:
		if b.c.Terminal != nil {
			e.functionErr = b.hand(ctx, b.c.Terminal, rec, err)
		}
		e.again = e.functionErr != nil
	case report.RecordPoison:
		if b.c.Poison != nil {
			e.functionErr = b.hand(ctx, b.c.Poison, rec, err)
		}
		e.again = b.c.Poison == nil || e.functionErr != nil
	default:
		e.again = true
	}
	return e
}

// inLine gets a record in line for its key.
func (b *batch[R, Out]) inLine(ctx context.Context, rec queue.Record[R]) turn {
	if len(b.records) == 1 {
		return turn{}
	}
	// The name of the stored record is that by which copies know each other. Why there is none, an
	// error or a panic, the handler reports.
	var key string
	_ = guarded(func() {
		d, _ := b.handler.Describe(ctx, rec.Event)
		key = d.RecordKey
	})
	return b.keys.ask(key)
}

// handle runs the handler.
func (b *batch[R, Out]) handle(ctx context.Context, rec queue.Record[R], waits bool) (report.BatchOutcome, error) {
	began := time.Now()
	var err error
	if b.waits {
		ctx = b.patient(ctx)
	}
	// The errors keep their marks in a context that belongs to a delivery, also to one without
	// protection.
	fault := guarded(func() { _, err = b.handler.Handle(execution.Unwanting(ctx), rec.Event) })
	outcome := report.RecordPanicked
	if fault == nil {
		outcome, fault = b.outcomeOf(err), execution.Stripped(err)
	}
	if outcome != report.RecordInProgress && !waits { // whose handler did not run, or not all the time
		b.tookAtLeast(time.Since(began))
	}
	return outcome, fault
}

func (b *batch[R, Out]) tookAtLeast(d time.Duration) {
	for {
		was := b.slowest.Load()
		if int64(d) <= was || b.slowest.CompareAndSwap(was, int64(d)) {
			return
		}
	}
}

// outcomeOf tells the errors of a handler apart.
func (b *batch[R, Out]) outcomeOf(err error) report.BatchOutcome {
	switch {
	case err == nil:
		return report.RecordSucceeded
	case execution.MarkOf(err) == execution.Terminal:
		return report.RecordTerminal
	case errors.Is(err, idempotent.ErrInProgress), errors.Is(err, idempotent.ErrSuperseded):
		return report.RecordInProgress
	case b.isPoison(err):
		return report.RecordPoison
	default:
		return report.RecordFailed
	}
}

// isPoison reports whether the error says that the handler did not run, and will not, or that it
// could not read the body. An error of a handler that calls another one is none: what is wrong
// inside may pass.
func (b *batch[R, Out]) isPoison(err error) bool {
	switch e := execution.Stripped(err).(type) { //nolint:errorlint // what another error wraps is the handler's business
	case *BodyError:
		return true
	case *idempotent.Error:
		return e.Step == "" && e.Operation == b.handler.Operation() && slices.Contains(poison, e.Kind)
	default:
		return false
	}
}

// poison are the errors after which a record is not handled by trying again.
var poison = []error{
	idempotent.ErrMissingKey, idempotent.ErrInvalidKey, idempotent.ErrMismatch, idempotent.ErrUnreadable,
	idempotent.ErrUnknownOutcome,
}

// hand gives a record to a function of the configuration.
func (b *batch[R, Out]) hand(ctx context.Context, take func(context.Context, R, error) error, rec queue.Record[R],
	failure error,
) (err error) {
	if fault := guarded(func() { err = take(ctx, rec.Event, failure) }); fault != nil {
		return fault
	}
	return err
}
