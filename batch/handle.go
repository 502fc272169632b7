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

// one runs a record. There is always time to wait for another execution of it, if that is all.
func (b *batch[R, Out]) one(ctx context.Context, rec queue.Record[R], waits bool) report.BatchProblem {
	if b.late(ctx) && !waits {
		return report.BatchProblem{Outcome: report.RecordNotBegun, Again: true}
	}
	outcome, err := b.handle(ctx, rec, waits)
	e := report.BatchProblem{Outcome: outcome, Err: err}
	var take func(context.Context, R, error) error
	switch outcome {
	case report.RecordSucceeded:
	case report.RecordTerminal:
		take = b.c.Terminal
	case report.RecordPoison:
		take, e.Again = b.c.Poison, b.c.Poison == nil
	default:
		e.Again = true
	}
	if take != nil {
		e.FunctionErr = execution.Guarded(func() error { return take(ctx, rec.Event, err) })
		e.Again = e.FunctionErr != nil
	}
	return e
}

func (b *batch[R, Out]) handle(ctx context.Context, rec queue.Record[R], waits bool) (report.BatchOutcome, error) {
	began := time.Now()
	if b.waits {
		ctx = b.patient(ctx)
	}
	var err error // it keeps its marks in a context that belongs to a delivery
	fault := execution.Guarded(func() error {
		_, err = b.handler.Handle(execution.Unwanting(ctx), rec.Event)
		return nil
	})
	outcome := report.RecordPanicked
	if fault == nil {
		outcome, fault = b.outcomeOf(err), execution.Stripped(err)
	}
	if outcome != report.RecordInProgress && !waits { // whose handler did not run, or not all the time
		b.mu.Lock()
		defer b.mu.Unlock()
		b.slowest = max(b.slowest, time.Since(began))
	}
	return outcome, fault
}

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

var poison = []error{
	idempotent.ErrMissingKey, idempotent.ErrInvalidKey, idempotent.ErrMismatch, idempotent.ErrUnreadable,
	idempotent.ErrUnknownOutcome,
}

// PanicError is the error of a function that has panicked, or has ended its goroutine.
type PanicError = report.PanicError
