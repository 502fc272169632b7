package explore

import (
	"context"

	"github.com/go-idempotent/idempotent/store"
)

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
