package explore

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
)

// Op is a method of a store.
type Op string

// The methods.
const (
	opClaim  Op = "claim"
	opSwap   Op = "swap"
	opDelete Op = "delete"
	opGet    Op = "get"
	opCommit Op = "commit"
)

// call is a call of the store, and the message that carries it.
type call struct {
	op         Op
	key        string
	seen, next store.Record
	now        time.Time
	// writes and token are those of a commit.
	writes rows.Writes
	token  string
	// within says that a commit of the handler makes the call, try which of them.
	within bool
	try    int
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

// The calls of a relay: it reads a message, marks it as done, counts a delivery that has failed,
// takes it, gives it up.
const (
	ReadMessage   Call = "look at a message"
	MarkDone      Call = "mark"
	CountFailure  Call = "count"
	TakeMessage   Call = "take"
	GiveUpMessage Call = "give up"
)

// callName is the name of a call that the delivery makes.
func (d *delivery) callName(c call) Call {
	switch {
	case d.world.operator.self == d:
		return OfOperator
	case d.asks():
		return d.callOfReconciler(c)
	case c.op == opCommit:
		return Commit
	case c.within && c.op == opSwap && len(c.next.Steps) == 0:
		return Fence
	case c.op == opClaim:
		return Claim
	case c.op == opGet:
		return Look
	case !d.began && !d.resolved && d.uses(c.seen.Owner) && !d.takesBack(c) &&
		(c.op == opDelete || !c.takesLease(d.clock()) && !c.refuses()):
		return Undo
	case c.op == opDelete, c.keepsSteps() && d.began:
		return Release
	case len(c.next.Steps) > 0 && d.uses(c.seen.Owner) && c.marks():
		return StepMark
	case len(c.next.Steps) > 0 && d.uses(c.seen.Owner):
		return StepRecord
	case c.next.Status != store.StatusInProgress:
		return Completion
	case c.seen.Owner == c.next.Owner:
		return Renewal
	default:
		return Takeover
	}
}

// takesBack reports whether the call takes over what an earlier claim of the delivery holds, which
// arrived after the delivery had begun anew.
func (d *delivery) takesBack(c call) bool { return c.seen.Owner != d.owner && c.next.Owner == d.owner }

// refuses reports whether the call makes a crash UNKNOWN: the owner stays.
func (c call) refuses() bool {
	return c.next.Status == store.StatusUnknown && c.next.Owner == c.seen.Owner
}

// marks reports whether the call writes a start mark.
func (c call) marks() bool {
	for _, s := range c.next.Steps {
		return s.Kind == store.StepStarted
	}
	return false
}

// reply is what a call returned.
type reply struct {
	held store.Record
	done bool
	err  error
}

// make makes the call.
func (c call) make(s store.Store) reply {
	var r reply
	ctx := context.Background()
	switch c.op {
	case opClaim:
		r.held, r.done, r.err = s.Claim(ctx, c.next, c.now)
	case opSwap:
		r.held, r.done, r.err = s.Swap(ctx, c.seen, c.next)
	case opDelete:
		r.done, r.err = s.Delete(ctx, c.seen)
	case opGet:
		r.held, r.done, r.err = s.Get(ctx, c.key)
	case opCommit:
		commits, err := store.CommitterOf(s)
		if err != nil {
			return reply{err: err}
		}
		r.held, r.done, r.err = commits.Commit(ctx, c.seen, c.next, c.writes, c.token)
	}
	return r
}

// gate is the store as deliveries see it: each call waits until the schedule grants it.
type gate struct{}

func (gate) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	d := deliveryOf(ctx)
	if d.client.Of == Powertools {
		r = store.Record{Key: r.Key, Status: r.Status, Lease: r.Lease, Expiry: r.Expiry, Fingerprint: r.Fingerprint}
	}
	got := d.call(ctx, call{op: opClaim, key: r.Key, next: r, now: now})
	return got.held, got.done, got.err
}

func (gate) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	got := deliveryOf(ctx).call(ctx, call{op: opSwap, key: seen.Key, seen: seen, next: next})
	return got.held, got.done, got.err
}

func (gate) Delete(ctx context.Context, seen store.Record) (bool, error) {
	got := deliveryOf(ctx).call(ctx, call{op: opDelete, key: seen.Key, seen: seen})
	return got.done, got.err
}

func (gate) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	w := writes.(rows.Writes) //nolint:forcetypeassert // the handler has no others
	got := deliveryOf(ctx).call(ctx, call{op: opCommit, key: seen.Key, seen: seen, next: next, writes: w, token: token})
	return got.held, got.done, got.err
}

func (gate) Apply(context.Context, store.Writes, string) error {
	panic("every delivery is protected")
}

func (gate) Get(ctx context.Context, key string) (store.Record, bool, error) {
	got := deliveryOf(ctx).call(ctx, call{op: opGet, key: key})
	return got.held, got.done, got.err
}
