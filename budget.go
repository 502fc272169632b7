package idempotent

import (
	"context"
	"math/rand/v2"
	"time"
)

// The waits between tries grow from the first to the last, with full jitter.
const (
	firstPause = 25 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

// pause waits before a call is repeated. It reports false at once if the context would end first: then there is no
// point in waiting.
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

// budgetEnd is when a budget that starts now ends: never so late that no time is left to answer before the deadline.
func budgetEnd(ctx context.Context, budget time.Duration) time.Time {
	now := time.Now()
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(now.Add(budget)) {
		return answerable(deadline, now)
	}
	return now.Add(budget)
}

// answerable is the instant before a deadline that leaves time to send the answer: a tenth of what is left, at most 100 ms.
func answerable(deadline, now time.Time) time.Time {
	return deadline.Add(-min(deadline.Sub(now)/10, 100*time.Millisecond))
}

// budget is a context whose deadline says when the time for all tries of a step is over. It has no timer: only its parent
// ends it. No call runs under it directly; each try gets a context made from it by halfOf or wholeOf, and pause goes by
// what is left. That saves four allocations of five.
type budget struct {
	context.Context //nolint:containedctx // it is one

	end time.Time
}

func within(ctx context.Context, end time.Time) context.Context { return budget{ctx, end} }

func (b budget) Deadline() (time.Time, bool) { return b.end, true }

// detached is a budget that the end of its parent does not end, as a context.WithoutCancel of it would be.
type detached struct{ budget }

// withinDetached is for what has to be done although the invocation may be over.
func withinDetached(ctx context.Context, end time.Time) context.Context {
	return detached{budget{ctx, end}}
}

func (detached) Done() <-chan struct{} { return nil }
func (detached) Err() error            { return nil }

// halfOf gives one try half of the time that is left, so that a reply that never comes leaves room for another.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	// Never later than the deadline, also if that is over: package context would leave the end to the budget, which has none.
	return context.WithDeadline(ctx, deadline.Add(-max(time.Until(deadline)/2, 0)))
}

// wholeOf gives one try all of the time that is left.
func wholeOf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline)
}
