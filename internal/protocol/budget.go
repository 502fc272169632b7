package protocol

import (
	"context"
	"time"
)

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
// it by halfOf or wholeOf, and pause goes by what is left. That saves four allocations of five.
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

// longestRead bounds the reading of a result without a deadline. It is enough for 15 MB on a slow
// network, more than any function returns.
const longestRead = 30 * time.Second

// forReading is the budget of reading a stored result: until the deadline, if there is one. The
// claim is over then, so its budget does not count: what could be stored can be replayed.
func (c *claim) forReading(ctx context.Context) context.Context {
	now := time.Now()
	end := now.Add(longestRead)
	if c.deadline.After(now) && c.deadline.Before(end) {
		end = answerable(c.deadline, now)
	}
	return within(ctx, end)
}

// halfOf gives one try half of the time that is left, so that a reply that never comes leaves room
// for another.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) { return partOf(ctx, 0) }

// partOf gives one try half of the time that is left, but at least what it needs, if there is that
// much.
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

// mostOf gives one try three quarters of the time that is left.
func mostOf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return partOf(ctx, max(time.Until(deadline), 0)/4*3)
}
