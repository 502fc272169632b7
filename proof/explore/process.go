package explore

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/proof/schedules"
	"github.com/go-idempotent/idempotent/store"
)

// process handles deliveries, one after the other or at the same time, and may have something
// before the store that remembers what they learned.
type process struct {
	store   store.Store
	handler *idempotent.Handler[Order, Receipt]
	// learned is which steps it has seen begin, with marks and without.
	learned uint64
	// history is a digest of all that its deliveries have learned, in that order.
	history uint64
}

// processKey tells apart the processes that live at the same time.
type processKey struct {
	of     Version
	number int
}

func (c *client) process() processKey { return processKey{c.Of, c.Process} }

// processOf is the process that handles the next delivery of a client.
func (w *world) processOf(c *client) *process {
	p := w.processes[c.process()]
	if p == nil {
		p = &process{store: gate{}, handler: w.handler(c.Of)}
		if w.Before != nil {
			p.store = w.Before(gate{})
		}
		w.processes[c.process()] = p
	}
	return p
}

// die ends a delivery and the process that handles it. Other deliveries that it handles go on: they
// stand for those of a process that only looks dead.
func (w *world) die(d *delivery) {
	d.die()
	if w.processes[d.client.process()] == d.process {
		delete(w.processes, d.client.process())
	}
}

// remember takes up what a delivery has learned, or that it has begun.
func (p *process) remember(x *delivery) {
	d := schedules.NewDigest(x.world.origin)
	d.Number(int64(p.history))
	d.Text(x.name)
	d.Time(x.world.now)
	d.Number(int64(x.history))
	p.history = d.Sum64()
}

// memory is a part of the state: what is before the store depends on nothing but the history of its
// process.
func (w *world) memory(d *schedules.Digest, p *process) {
	d.Number(int64(p.learned))
	if w.Before != nil {
		d.Number(int64(p.history))
	}
}

// entrance is the store of the handler: that of the process which handles the delivery.
type entrance struct{}

func (entrance) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	d := deliveryOf(ctx)
	calls := d.calls
	held, claimed, err := d.process.store.Claim(ctx, r, now)
	if calls == d.calls && !d.dead {
		d.claims(r)
		d.shown, d.shownAt = held, d.clock()
		d.world.Saw("answered from memory")
		d.world.Sayf("  %s: %s is answered from memory: %s", d.name, opClaim, d.world.describe(held))
	}
	return held, claimed, err
}

func (entrance) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	return deliveryOf(ctx).process.store.Swap(ctx, seen, next)
}

func (entrance) Delete(ctx context.Context, seen store.Record) (bool, error) {
	return deliveryOf(ctx).process.store.Delete(ctx, seen)
}

func (entrance) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	commits, err := store.CommitterOf(deliveryOf(ctx).process.store)
	if err != nil {
		return store.Record{}, false, err
	}
	return commits.Commit(ctx, seen, next, writes, token)
}

func (entrance) Apply(ctx context.Context, writes store.Writes, token string) error {
	return gate{}.Apply(ctx, writes, token)
}

func (entrance) Get(ctx context.Context, key string) (store.Record, bool, error) {
	return deliveryOf(ctx).process.store.Get(ctx, key)
}
