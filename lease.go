package idempotent

import (
	"context"
	"errors"
	"time"
)

// farDeadline is when a deadline does not tell any more how long an execution takes, four times the longest that Lambda
// gives. A lease of that length would block the key of a crashed process for as long.
const farDeadline = time.Hour

// nearDeadline is the context's deadline, zero if it has none or a far one.
func nearDeadline(ctx context.Context) time.Time {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= farDeadline {
		return deadline
	}
	return time.Time{}
}

// leaseUntil is the end of a lease that is taken now: the invocation's deadline and a margin. The margin covers a process
// that is killed late and clocks that differ. Without a near deadline it is the default lease, which is renewed.
func (c *config) leaseUntil(deadline time.Time) time.Time {
	left := c.timing.Lease
	if !deadline.IsZero() {
		left = max(time.Until(deadline), 0) + c.timing.Margin
	}
	return leaseEnd(c.now().Add(left))
}

// handlerContext is the context the handler runs with. It ends a little before the invocation's deadline; without a
// deadline a heartbeat renews the lease beside it. The returned function ends both, and waits for the heartbeat.
func (v *invocation) handlerContext(ctx context.Context) (context.Context, func()) {
	ctx = &executionContext{ctx, v.execution()}
	if !v.deadline.IsZero() {
		reserve := min(v.timing.Reserve, time.Until(v.deadline)/10)
		ctx, cancel := context.WithDeadline(ctx, v.deadline.Add(-reserve))
		return ctx, cancel
	}
	ctx, cancel := context.WithCancelCause(ctx)
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		if err := v.renewUntil(beat); err != nil {
			v.event.StoreErr = err
			cancel(ErrLeaseLost)
		}
	}()
	return ctx, func() {
		stop()
		<-joined
		cancel(context.Canceled)
	}
}

// renewUntil renews the lease at every third of it until ctx ends. It returns an error once the lease cannot be held: a
// margin before it would end, or at once if someone else has the record.
func (v *invocation) renewUntil(ctx context.Context) error {
	lease := v.timing.Lease
	renewed := v.started
	for {
		held := renewed.Add(lease) // until when the record protects us, by the clock of contexts
		if !sleep(ctx, time.Until(renewed.Add(lease/3))) {
			return nil
		}
		renewed = time.Now()
		tries, cancel := context.WithDeadline(ctx, held.Add(-v.timing.Margin))
		err := v.renew(tries)
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			<-tries.Done() // the lease still holds: the handler may come to its end in time
		}
		cancel()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the handler has returned; whether the lease was renewed does not matter any more
		}
		if err != nil {
			return err
		}
	}
}

// renew moves the lease of our record, trying until ctx ends.
func (v *invocation) renew(ctx context.Context) error {
	for failures := 1; ; failures++ {
		next := v.mine
		next.Lease = leaseEnd(v.now().Add(v.timing.Lease))
		next.Expiry = v.expiryInProgress(next.Lease)
		_, swapped, err := v.trySwap(ctx, unleased(v.mine), next)
		switch {
		case swapped:
			return nil
		case err == nil:
			return ErrLeaseLost
		case !mayPass(err) || !pause(ctx, failures):
			return err
		}
	}
}

func (v *invocation) trySwap(ctx context.Context, seen, next Record) (Record, bool, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	return v.store.Swap(ctx, seen, next)
}
