package protocol

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// retry repeats a call while that can help and time is left. Each try has half of what is left.
func retry(ctx context.Context, call func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := try(ctx, call)
		if err == nil || !store.MayPass(err) || !pause(ctx, failures) {
			return err
		}
	}
}

func try(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	return call(ctx)
}

// maxMoves bounds how often a claim or a settlement follows a record that changes under its eyes.
const maxMoves = 10

var errRestless = errors.New("the record changed at every look")

// mayBeApplied reports whether a write that returned err can have been applied all the same. A
// record that cannot be read has refused it: our own could be read.
func mayBeApplied(err error) bool {
	if unreadable(err) {
		return false
	}
	failed, ok := errors.AsType[*store.Error](err)
	return !ok || !failed.NotApplied
}

// neverFits reports whether the store can never hold what it was given.
func neverFits(err error) bool {
	failed, ok := errors.AsType[*store.Error](err)
	return ok && (failed.Kind == store.FailureTooLarge || failed.Kind == store.FailureRejected)
}

// inTransaction reports whether a write met a transaction, or another writer of the same item, and
// was not applied. Whoever claims reads then, instead of repeating the write: many duplicates of
// one request must not keep the owner from its commit.
func inTransaction(err error) bool {
	failed, ok := errors.AsType[*store.Error](err)
	return ok && failed.Kind == store.FailureConflict && failed.NotApplied
}

// timedOut reports whether a call ended without an answer.
func timedOut(err error) bool {
	failed, ok := errors.AsType[*store.Error](err)
	return ok && failed.Kind == store.FailureTimeout
}

func unreadable(err error) bool {
	_, ok := errors.AsType[*store.UnreadableError](err)
	return ok
}

// unanswered is the result of a delivery whose call the store could not answer.
func unanswered(err error) Result {
	if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
		return Result{Outcome: report.Unreadable, Reason: unreadable.Reason, Err: unreadable.Err}
	}
	return Result{Outcome: report.StoreUnavailable, Err: err}
}

// The waits between tries grow from the first to the last, with full jitter.
const (
	firstPause = 25 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

// pause waits before a call is repeated. It reports false at once if the context would end first:
// then there is no point in waiting.
func pause(ctx context.Context, failures int) bool {
	longest := min(firstPause<<min(failures-1, 10), lastPause)
	wait := time.Duration(rand.Int64N(int64(longest))) + time.Millisecond //nolint:gosec // jitter, not a secret
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	return sleep(ctx, wait)
}

// sleep waits for d and reports whether ctx lasted that long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
