package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

// begin prepares a claim: a token, and a lease from now.
func (c *claim) begin(ctx context.Context) {
	c.as.Owner, c.started = rand.Text(), time.Now()
	c.before = life.Before{}
	c.deadline, _ = ctx.Deadline()
	c.heartbeat = c.deadline.IsZero() || c.Concurrent || c.deadline.Sub(c.started) > longestKilled
	c.as.Lease = c.leaseFrom(c.started)
	held := c.started.Add(c.Timing.Lease)
	if !c.heartbeat {
		held = c.deadline.Add(c.Timing.Margin)
	}
	c.protected.held, c.protected.lease = held, c.as.Lease // nothing runs beside yet
}

// protected is until when a lease protects a claim: held by the clock of contexts, lease by that of
// records.
type protected struct {
	mu          sync.Mutex
	held, lease time.Time
}

// until notes a lease of the claim, unless a later one has overtaken it.
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

// leaseOver reports whether the lease has ended by one of the two clocks: then somebody else may
// have the record.
func (c *claim) leaseOver() bool {
	held, lease := c.protected.both()
	return !time.Now().Before(held) || store.Reached(lease, c.Now())
}

// longestKilled is the longest that an invocation may run which Lambda kills at its deadline, as
// AWS documents it. On Managed Instances one runs up to 90 minutes and nobody kills it: a lease
// until such a deadline would block the key of a crashed process for as long.
const longestKilled = 15 * time.Minute

// leaseFrom is the end of a lease that is taken now: the default one, if it is renewed, or the
// deadline and a margin for a process that is killed late and clocks that differ.
func (c *claim) leaseFrom(now time.Time) time.Time {
	left := c.Timing.Lease
	if !c.heartbeat {
		left = max(c.deadline.Sub(now), 0) + c.Timing.Margin
	}
	return life.LeaseEnd(c.Now().Add(left))
}

// handlerContext is the context the handler runs with. It ends a little before the invocation's
// deadline, with the cause of that, and as soon as the lease is lost. The lease is renewed beside
// the handler: from a third of it on, or if the handler overruns its deadline in a process that
// nobody kills. The returned function ends both, and waits for the renewal.
func (c *claim) handlerContext(ctx context.Context) (context.Context, func()) {
	ended, lost := func() {}, func(error) {}
	if !c.deadline.IsZero() {
		c.reserve = min(c.Timing.Reserve, time.Until(c.deadline)/10)
		c.handlerEnd = c.deadline.Add(-c.reserve)
		ctx, ended = execution.WithDeadline(ctx, c.handlerEnd)
	}
	// An overrun is renewed first in the second half of the margin, when a killed process is dead.
	first := c.deadline.Add(c.Timing.Margin / 2)
	if c.heartbeat {
		ctx, lost = context.WithCancelCause(ctx)
		first = c.started.Add(c.Timing.Lease / 3)
	}
	under := ctx
	renewal := time.AfterFunc(time.Until(first), func() {
		c.beside.start(under, func(ctx context.Context) {
			if err := c.keepRenewed(ctx); err != nil {
				c.note(err)
				lost(execution.ErrLeaseLost)
			}
		})
	})
	return ctx, func() {
		if !renewal.Stop() {
			c.beside.stop(true)
		}
		lost(context.Canceled)
		ended()
	}
}

// longestOverrun is for how long after its deadline a handler keeps its claim. One that hangs does
// not block its key for ever.
const longestOverrun = 15 * time.Minute

// keepRenewed renews the lease at every third of it, that of an overrun at once, until ctx ends or
// the handler has overrun its deadline for too long. It tries each renewal until a margin before
// the lease would end, and the first one of an overrun in a half of what is left of the margin. It
// returns an error when the lease cannot be held any longer, or somebody else has the record.
func (c *claim) keepRenewed(ctx context.Context) error {
	next := time.Now()
	limit := next.Add(c.Timing.Margin / 4)
	if c.heartbeat {
		held, _ := c.protected.both()
		next, limit = held.Add(c.Timing.Lease/3-c.Timing.Lease), held.Add(-c.Timing.Margin)
	}
	for sleep(ctx, time.Until(next)) {
		begun := time.Now()
		if !c.deadline.IsZero() && !begun.Before(c.deadline.Add(longestOverrun)) {
			return nil
		}
		err := c.renew(ctx, limit)
		if err != nil && !errors.Is(err, execution.ErrLeaseLost) {
			sleep(ctx, time.Until(limit)) // the lease still holds: the handler may come to its end in time
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the handler has returned; whether the lease was renewed does not matter any more
		}
		if err != nil {
			c.gone.Store(true)
			return err
		}
		next, limit = begun.Add(c.Timing.Lease/3), begun.Add(c.Timing.Lease-c.Timing.Margin)
	}
	return nil
}

// renew renews the lease until end. Whatever fails is tried again, also what does not pass by
// itself: credentials that have expired are renewed beside us.
func (c *claim) renew(ctx context.Context, end time.Time) error {
	for failures := 1; ; failures++ {
		try, cancel := partOf(ctx, end, 0)
		renewed, err := c.tryRenew(try, c.Timing.Lease)
		cancel()
		switch {
		case renewed:
			return nil
		case err == nil:
			return execution.ErrLeaseLost
		case !pause(ctx, end, failures):
			return err
		}
	}
}

// tryRenew gives our record a lease from now, once. It reports false without an error if the record
// is not ours any more.
func (c *claim) tryRenew(ctx context.Context, lease time.Duration) (renewed bool, _ error) {
	begun, now := time.Now(), c.Now()
	next := c.as.Renewed(c.mine, now.Add(lease), now)
	held, swapped, err := c.Store.Swap(ctx, life.Unleased(c.mine), next)
	switch {
	case err != nil:
		return false, err
	case !swapped && (held.Owner != c.as.Owner || held.Status != store.StatusInProgress):
		return false, nil
	case !swapped: // this renewal was overtaken: a later lease of ours is there
		next = held
	}
	c.protected.until(begun.Add(lease), next.Lease)
	return true, nil
}

// background is what runs beside the handler, at most once at a time, and is joined before anything
// is settled. Its zero value is ready.
type background struct {
	mu sync.Mutex
	// over: the handler has ended. held: what was started waits until it may go on, if ever.
	over, held bool
	// begin begins what was started.
	begin  func()
	cancel context.CancelFunc
	joined chan struct{}
}

// start runs what is given in a goroutine of its own, in a context whose end is not that of ctx,
// unless the handler has ended already.
func (b *background) start(ctx context.Context, run func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin = func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		joined := make(chan struct{})
		b.cancel, b.joined = cancel, joined
		go func() {
			defer close(joined)
			run(ctx)
		}()
	}
	if !b.held {
		b.begin()
	}
}

// stop ends what runs, and waits for it: for good, or until goOn. What is started meanwhile waits.
func (b *background) stop(forGood bool) {
	b.mu.Lock()
	b.over, b.held = b.over || forGood, true
	cancel, joined := b.cancel, b.joined
	b.mu.Unlock()
	if cancel != nil {
		cancel()
		<-joined
	}
}

// goOn begins anew what was held: what runs is not begun twice.
func (b *background) goOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || !b.held {
		return
	}
	b.held = false
	if b.begin != nil {
		b.begin()
	}
}
