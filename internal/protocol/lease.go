package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

// begin prepares a claim: a token, and a lease from now.
func (d *Delivery) begin(ctx context.Context) {
	d.owner, d.started = rand.Text(), time.Now()
	d.deadline, _ = ctx.Deadline()
	d.heartbeat = d.deadline.IsZero() || d.Concurrent || d.deadline.Sub(d.started) > longestKilled
	d.lease = d.leaseFromNow()
	held := d.started.Add(d.Timing.Lease)
	if !d.heartbeat {
		held = d.deadline.Add(d.Timing.Margin)
	}
	d.protected.from(held, d.lease)
}

// protected is until when a lease protects a claim: held by the clock of contexts, lease by the clock of records.
type protected struct {
	mu          sync.Mutex
	held, lease time.Time
}

// from is a new claim.
func (p *protected) from(held, lease time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.lease = held, lease
}

// until is a later lease of the claim. One that is not later changes nothing: it was overtaken.
func (p *protected) until(held, lease time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held.Before(held) {
		p.held = held
	}
	if p.lease.Before(lease) {
		p.lease = lease
	}
}

func (p *protected) both() (held, lease time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held, p.lease
}

// protection is the end of our lease, by the clock of records.
func (d *Delivery) protection() time.Time {
	_, lease := d.protected.both()
	return lease
}

// leaseOver reports whether the lease has ended by one of the two clocks: then somebody else may have the record.
func (d *Delivery) leaseOver() bool {
	held, lease := d.protected.both()
	return !time.Now().Before(held) || store.Reached(lease, d.Now())
}

// reasonContextEnded is why neither a step nor a commit begins.
const reasonContextEnded = "its context has ended"

// live returns why nothing may begin now that needs the claim: it is lost, or the context has ended.
func (d *Delivery) live(ctx context.Context) (lost, ended error) {
	over := d.leaseOver()
	d.steps.note(func(k *stepsKnown) {
		over = over || k.leaseLost
		k.leaseLost = over
	})
	switch cause := context.Cause(ctx); {
	case over, errors.Is(cause, execution.ErrLeaseLost):
		return execution.ErrLeaseLost, nil
	default:
		return nil, cause
	}
}

// longestKilled is the longest that an execution environment lives which Lambda kills at its
// deadline, as AWS documents it. Managed Instances run up to 90 minutes and nobody kills them: a
// lease until such a deadline would block the key of a crashed process for as long.
const longestKilled = 15 * time.Minute

// leaseFromNow is the end of a lease that is taken now: the invocation's deadline and a margin. The
// margin covers a process that is killed late and clocks that differ. A lease that is renewed is the
// default one.
func (d *Delivery) leaseFromNow() time.Time {
	left := d.Timing.Lease
	if !d.heartbeat {
		left = max(time.Until(d.deadline), 0) + d.Timing.Margin
	}
	return leaseEnd(d.Now().Add(left))
}

// handlerContext is the context the handler runs with. It ends a little before the invocation's
// deadline, with the cause of that deadline. The lease is renewed beside the handler: from the start,
// or if the handler overruns its deadline in a process that nobody kills. The returned function ends
// both, and waits for the renewal.
func (d *Delivery) handlerContext(ctx context.Context) (context.Context, func()) {
	ended := func() {}
	if !d.deadline.IsZero() {
		d.reserve = min(d.Timing.Reserve, time.Until(d.deadline)/10)
		d.handlerEnd = d.deadline.Add(-d.reserve)
		ctx, ended = context.WithDeadline(ctx, d.handlerEnd)
	}
	if d.heartbeat {
		ctx, joined := d.withHeartbeat(ctx)
		return ctx, func() {
			joined()
			ended()
		}
	}
	overrun := time.AfterFunc(time.Until(d.deadline)+d.Timing.Margin/2, func() { d.beside.start(ctx, d.renewOverrun) })
	return ctx, func() {
		if !overrun.Stop() {
			d.beside.end()
		}
		ended()
	}
}

// withHeartbeat renews the lease from a third of it on. The context ends as soon as the lease is lost.
func (d *Delivery) withHeartbeat(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var last time.Time
	if !d.deadline.IsZero() {
		last = d.deadline.Add(longestOverrun)
	}
	d.beside.start(ctx, func(beat context.Context) {
		held, _ := d.protected.both()
		lease := d.Timing.Lease
		if err := d.renewUntil(beat, held.Add(lease/3-lease), held.Add(-d.Timing.Margin), last); err != nil {
			d.note(err)
			cancel(execution.ErrLeaseLost)
		}
	})
	return ctx, func() {
		d.beside.end()
		cancel(context.Canceled)
	}
}

// longestOverrun is for how long after its deadline a handler keeps its claim. Beyond it the lease lapses, so that a handler
// which hangs does not block its key for ever.
const longestOverrun = 15 * time.Minute

// renewOverrun renews the lease of a handler that has overrun its deadline and still runs: on Lambda Managed Instances, in a
// container, in a test. The first renewal is tried in the second half of the margin, in which a killed process sends nothing.
func (d *Delivery) renewOverrun(ctx context.Context) {
	first, margin := time.Now(), d.Timing.Margin
	d.note(d.renewUntil(ctx, first, first.Add(margin/4), d.deadline.Add(longestOverrun)))
}

// renewUntil renews the lease at the instant next, and then at every third of it, until ctx ends or, if that is not zero, the
// instant last comes. It tries each renewal until the instant limit, a margin before the lease would end. It returns an error
// once the lease cannot be held: at the limit, or at once if someone else has the record.
func (d *Delivery) renewUntil(ctx context.Context, next, limit, last time.Time) error {
	for sleep(ctx, time.Until(next)) {
		begun := time.Now()
		if !last.IsZero() && !begun.Before(last) {
			return nil
		}
		tries, cancel := context.WithDeadline(ctx, limit)
		err := d.renew(tries)
		if err != nil && !errors.Is(err, execution.ErrLeaseLost) {
			<-tries.Done() // the lease still holds: the handler may come to its end in time
		}
		cancel()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the handler has returned; whether the lease was renewed does not matter any more
		}
		if err != nil {
			return err
		}
		next, limit = begun.Add(d.Timing.Lease/3), begun.Add(d.Timing.Lease-d.Timing.Margin)
	}
	return nil
}

// renew moves the lease of our record, trying until ctx ends. Whatever fails is tried again, also what does not pass by
// itself: credentials that have expired are renewed beside us.
func (d *Delivery) renew(ctx context.Context) error {
	for failures := 1; ; failures++ {
		begun, next := time.Now(), d.renewed(d.Timing.Lease)
		held, swapped, err := d.tryRenew(ctx, next)
		switch {
		case swapped:
			d.protected.until(begun.Add(d.Timing.Lease), next.Lease)
			return nil
		case err == nil && held.Owner == d.owner && held.Status == store.StatusInProgress:
			d.protected.until(begun.Add(d.Timing.Lease), held.Lease)
			return nil // a later lease of ours is there: this renewal was overtaken
		case err == nil:
			return execution.ErrLeaseLost
		case !pause(ctx, failures):
			return err
		}
	}
}

func (d *Delivery) tryRenew(ctx context.Context, next store.Record) (store.Record, bool, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	return d.Store.Swap(ctx, unleased(d.mine), next)
}
