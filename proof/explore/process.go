package explore

import (
	"context"
	"maps"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
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

// processOf is the process that handles the next delivery of a client.
func (w *world) processOf(c *client) *process {
	key := processKey{c.Of, c.Process}
	p := w.processes[key]
	if p == nil {
		p = &process{store: called(atGate), handler: w.handler(c.Of)}
		if w.Before != nil {
			p.store = w.Before(p.store)
		}
		w.processes[key] = p
	}
	return p
}

// die ends a delivery and the process that handles it. Other deliveries that it handles go on: they
// stand for those of a process that only looks dead.
func (w *world) die(d *delivery) {
	d.die()
	maps.DeleteFunc(w.processes, func(_ processKey, p *process) bool { return p == d.process })
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

// atGate makes a call of the store as deliveries see it: it waits until the schedule grants it.
func atGate(ctx context.Context, c call) reply {
	d := deliveryOf(ctx)
	if d.client.Of == Powertools && c.Op == opClaim {
		r := c.Next
		c.Next = store.Record{Key: c.Key, Status: r.Status, Lease: r.Lease, Expiry: r.Expiry}
		c.Next.Fingerprint = r.Fingerprint
	}
	d.process.remember(d, c, reply{})
	got := d.call(ctx, c)
	d.process.remember(d, c, got)
	return got
}

// Call names what a delivery asks of the store.
type Call string

// The calls. A completion is any Swap that ends an execution.
const (
	Claim      Call = "claim"
	Takeover   Call = "takeover"
	Renewal    Call = "renewal"
	Completion Call = "completion"
	Release    Call = "release"
	Undo       Call = "undo"
	StepMark   Call = "start mark"
	StepRecord Call = "step"
	Look       Call = "look"
	OfOperator Call = "change of an operator"
	Commit     Call = "commit"
	Fence      Call = "fence"
	Conclusion Call = "settlement of a reconciliation"
)

// callName is the name of a call that the delivery makes.
func (d *delivery) callName(c call) Call {
	switch {
	case d.world.operator.self == d:
		return OfOperator
	case d.asks():
		return d.callOfReconciler(c)
	case c.Op == opCommit:
		return Commit
	case c.within && c.Op == opSwap && len(c.Next.Steps) == 0:
		return Fence
	case c.Op == opClaim:
		return Claim
	case c.Op == opGet:
		return Look
	case !d.began && !d.resolved && d.uses(c.Seen.Owner) && !d.takesBack(c) &&
		(c.Op == opDelete || !c.takesLease(d.clock()) && !c.refuses()):
		return Undo
	case c.Op == opDelete, c.keepsSteps() && d.began:
		return Release
	case len(c.Next.Steps) > 0 && d.uses(c.Seen.Owner) && c.marks():
		return StepMark
	case len(c.Next.Steps) > 0 && d.uses(c.Seen.Owner):
		return StepRecord
	case c.Next.Status != store.StatusInProgress:
		return Completion
	case c.Seen.Owner == c.Next.Owner:
		return Renewal
	default:
		return Takeover
	}
}

// takesBack reports whether the call takes over what an earlier claim of the delivery holds, which
// arrived after the delivery had begun anew.
func (d *delivery) takesBack(c call) bool { return c.Seen.Owner != d.owner && c.Next.Owner == d.owner }

// refuses reports whether the call makes a crash UNKNOWN: the owner stays.
func (c call) refuses() bool {
	return c.Next.Status == store.StatusUnknown && c.Next.Owner == c.Seen.Owner
}

// marks reports whether the call writes a start mark.
func (c call) marks() bool {
	for _, s := range c.Next.Steps {
		return s.Kind == store.StepStarted
	}
	return false
}

// The methods of a store, apart from what deliveries ask with them: that is a [Call].
const (
	opClaim  = calls.Claim
	opSwap   = calls.Swap
	opDelete = calls.Delete
	opGet    = calls.Get
	opCommit = calls.Commit
)

// call is a call of a store, and the message that carries it.
type call struct {
	calls.Call

	// within says that a commit of the handler makes the call, try which of them.
	within bool
	try    int
}

// reply is what a call returned.
type reply = calls.Reply

// called is a store that is one function for all of its methods. Nobody may write rows in it
// without a record.
func called(do func(ctx context.Context, c call) reply) calls.Store {
	return func(ctx context.Context, c calls.Call) reply {
		if c.Op == calls.Apply {
			panic("explore: rows without a record")
		}
		return do(ctx, call{Call: c})
	}
}
