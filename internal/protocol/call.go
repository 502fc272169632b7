package protocol

import (
	"context"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// retry repeats a call until end, while that can help. Each try has half of the time that is left.
func retry(ctx context.Context, end time.Time, call func(context.Context) error) error {
	for failures := 1; ; failures++ {
		try, cancel := partOf(ctx, end, 0)
		err := call(try)
		cancel()
		if err == nil || !store.MayPass(err) || !pause(ctx, end, failures) {
			return err
		}
	}
}

// write sends a write once: next in the place of what was seen, which has no key if that is
// nothing. It has half of the time until end, but time for its texts.
func (c *claim) write(ctx context.Context, end time.Time, seen, next store.Record, now time.Time) (
	held store.Record, written bool, _ error,
) {
	texts := len(next.Result)
	for _, step := range next.Steps {
		texts += len(step.Result)
	}
	ctx, cancel := partOf(ctx, end, transferTime(texts))
	defer cancel()
	if seen.Key == "" {
		return c.Store.Claim(ctx, next, now)
	}
	return c.Store.Swap(ctx, seen, next)
}

// look reads the record once.
func (c *claim) look(ctx context.Context, end time.Time) (store.Record, error) {
	ctx, cancel := partOf(ctx, end, 0)
	defer cancel()
	held, _, err := c.Store.Get(ctx, c.as.Key)
	return held, err
}

// maxMoves bounds how often a claim or a settlement follows a record that changes under its eyes.
const maxMoves = 10

var errRestless = errors.New("the record changed at every look")

// mayBeApplied reports whether a write that returned err can have been applied. A record that
// cannot be read has refused it: our own could be read.
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

// pause waits before a call is repeated. It reports false at once if the time for all tries would
// be over first.
func pause(ctx context.Context, end time.Time, failures int) bool {
	longest := min(firstPause<<min(failures-1, 10), lastPause)
	wait := execution.Jitter(ctx, longest) + time.Millisecond
	return time.Until(end) > wait && sleep(ctx, wait)
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

// budgetEnd is when a budget ends that starts now: in time to answer before the deadline.
func budgetEnd(ctx context.Context, now time.Time, budget time.Duration) time.Time {
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(now.Add(budget)) {
		return answerable(deadline, now)
	}
	return now.Add(budget)
}

// answerable is the instant before a deadline that leaves time to send the answer: a tenth of what
// is left, at most 100 ms.
func answerable(deadline, now time.Time) time.Time {
	return deadline.Add(-min(deadline.Sub(now)/10, 100*time.Millisecond))
}

// slowestNetwork is how many bytes per second there is time for.
const slowestNetwork = 512 << 10

// transferTime is what a result of this size may take on the way.
func transferTime(size int) time.Duration {
	return time.Duration(size) * time.Second / slowestNetwork
}

// partOf gives one try half of the time that is left until end, so that a reply that never comes
// leaves room for another; but at least what it needs, if there is that much.
func partOf(ctx context.Context, end time.Time, needs time.Duration) (context.Context, context.CancelFunc) {
	left := time.Until(end)
	return execution.WithDeadline(ctx, end.Add(max(left/2, min(needs, left))-left))
}
