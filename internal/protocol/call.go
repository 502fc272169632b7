package protocol

import (
	"context"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// retry repeats a call while that can help and time is left. Each try has half of what is left.
func retry(ctx context.Context, call func(context.Context) error) error {
	for failures := 1; ; failures++ {
		try, cancel := partOf(ctx, 0)
		err := call(try)
		cancel()
		if err == nil || !store.MayPass(err) || !pause(ctx, failures) {
			return err
		}
	}
}

// write sends a write once: next in the place of what was seen, or of nothing. It has half of the
// time that is left, but time for the texts in it.
func (c *claim) write(ctx context.Context, absent bool, seen, next store.Record, now time.Time) (
	held store.Record, written bool, _ error,
) {
	texts := len(next.Result)
	for _, step := range next.Steps {
		texts += len(step.Result)
	}
	ctx, cancel := partOf(ctx, transferTime(texts))
	defer cancel()
	if absent {
		return c.Store.Claim(ctx, next, now)
	}
	return c.Store.Swap(ctx, seen, next)
}

// look reads the record once.
func (c *claim) look(ctx context.Context) (store.Record, error) {
	ctx, cancel := partOf(ctx, 0)
	defer cancel()
	held, _, err := c.Store.Get(ctx, c.as.Key)
	return held, err
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
	wait := execution.Jitter(ctx, longest) + time.Millisecond
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

// budgetEnd is when a budget that starts now ends: never so late that no time is left to answer
// before the deadline.
func budgetEnd(ctx context.Context, budget time.Duration) time.Time {
	now := time.Now()
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

// budget is a context whose deadline says when the time for all tries of a step is over. It has no
// timer: only its parent ends it. No call runs under it directly; each try gets a context made from
// it by partOf, and pause goes by what is left. That saves four allocations of five.
type budget struct {
	context.Context //nolint:containedctx // it is one

	end time.Time
}

func within(ctx context.Context, end time.Time) context.Context { return budget{ctx, end} }

func (b budget) Deadline() (time.Time, bool) { return b.end, true }

// detached is a budget that the end of its parent does not end, as a context.WithoutCancel of it
// would be.
type detached struct{ budget }

// withinDetached is for what has to be done although the invocation may be over.
func withinDetached(ctx context.Context, end time.Time) context.Context {
	return detached{budget{ctx, end}}
}

func (detached) Done() <-chan struct{} { return nil }
func (detached) Err() error            { return nil }

// slowestNetwork is how many bytes per second there is time for, also where a result is large.
const slowestNetwork = 512 << 10

// transferTime is what a result of this size may take on the way.
func transferTime(size int) time.Duration {
	return time.Duration(size) * time.Second / slowestNetwork
}

// longestRead bounds the reading of a result whose deadline is later, or that has none. It is
// enough for 15 MB on a slow network, more than any function returns.
const longestRead = 30 * time.Second

// forReading is the budget of reading a stored result: until the deadline, at most longestRead. The
// claim is over then, so its budget does not count: what could be stored can be replayed.
func (c *claim) forReading(ctx context.Context) context.Context {
	now := time.Now()
	end := now.Add(longestRead)
	if c.deadline.After(now) && c.deadline.Before(end) {
		end = answerable(c.deadline, now)
	}
	return within(ctx, end)
}

// partOf gives one try half of the time that is left, so that a reply that never comes leaves room
// for another; but at least what it needs, if there is that much.
func partOf(ctx context.Context, needs time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	// Never later than the deadline, also if that is over: package context would leave the end to
	// the budget, which has none.
	left := max(time.Until(deadline), 0)
	return context.WithDeadline(ctx, deadline.Add(-(left - max(left/2, min(needs, left)))))
}
