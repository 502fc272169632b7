package explore

import (
	"context"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// process handles deliveries, one after the other or at the same time, and may have something
// before the store that remembers what they learned.
type process struct {
	store   store.Store
	handler *idempotent.Handler[Order, Receipt]
	// learned is which steps it has seen begin, with marks and without.
	learned uint64
	// history is a digest of the calls of its deliveries and of what came back, in that order: what
	// is before the store depends on nothing else.
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
		p = &process{store: called(atGate), handler: w.handler(c.Of)}
		if w.Before != nil {
			p.store = w.Before(p.store)
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

// remember takes up that a call goes to the store, or what came back: nothing else passes what is
// before the store.
func (p *process) remember(x *delivery, c call, got reply) {
	if x.world.Before == nil {
		return
	}
	d := newDigest(x.world.origin, p.history, x.name, c.Op, got.Done, got.Err != nil)
	x.world.record(d, got.Held)
	p.history = d.Sum64()
}

// enter makes a call of the handler: it goes to the store of the process that handles the delivery.
func enter(ctx context.Context, c call) reply {
	d := deliveryOf(ctx)
	before := d.calls
	got := c.Make(ctx, d.process.store)
	if c.Op == opClaim && before == d.calls && !d.dead {
		d.claims(c.Next)
		d.shown, d.shownAt = got.Held, d.clock()
		d.world.Saw("answered from memory")
		d.world.Sayf("  %s: %s is answered from memory: %s", d.name, c.Op, d.world.describe(got.Held))
	}
	return got
}
