package explore

import (
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// asks reports whether a Swap takes a record to ask about it.
func asks(c *call) bool {
	return c.Next.Status == store.StatusInProgress && c.Next.Attempt > c.Seen.Attempt && c.Next.Attention != ""
}

// putsBack reports whether a Swap leaves a record that was asked about in vain.
func putsBack(c *call) bool {
	return c.Next.Status == store.StatusUnknown && c.Seen.Status == store.StatusInProgress && c.Next.Tries > 0
}

// found reports whether a Swap stores what a question has found.
func found(c *call) bool { return c.Next.SettledBy == "reconciliation" }

// absolves reports whether a Swap releases a record about which somebody has said that nothing
// happened.
func absolves(c *call) bool {
	return c.Next.Status == store.StatusInProgress && c.Next.Reason == store.ReasonReleased && c.Next.Attention == ""
}

// TestEveryGuardOfAReconciliationIsMissed takes out one guard after the other and expects the
// search to find a schedule that breaks an invariant.
func TestEveryGuardOfAReconciliationIsMissed(t *testing.T) {
	// writes is a store that makes something else of what is written.
	writes := func(what func(c *call) bool, as func(next *store.Record)) fault {
		return alters(opSwap, func(_ store.Record, c *call) {
			if what(c) {
				as(&c.Next)
			}
		})
	}
	// blind is a store that does not look at what it replaces.
	blind := func(what func(c *call) bool, over func(h store.Record) bool) fault {
		return alters(opSwap, func(h store.Record, c *call) {
			if what(c) && over(h) {
				c.Seen = h
			}
		})
	}
	running := func(h store.Record) bool { return h.Status == store.StatusInProgress }
	ends := func(c *call) bool { return found(c) || putsBack(c) || absolves(c) }
	givenUp := func(next *store.Record) { next.Attention = store.GivenUpOf(next.Key) }
	unlisted := func(next *store.Record) { next.Attention = "" }
	const again, twoAtOnce, givesUp = "reconcile: execute again", "reconcile: two at once", "reconcile: given up"
	const resolved, counts = "reconcile: with a resolver", "I13 an answer counts"
	const onTheList, tries = "I13 an open record stays on the list", "I13 tries are what was asked in vain"
	requireMissed(t, map[string]missing{
		"a question takes what an execution holds": {resolved, "I5", blind(asks, running)},
		"a question takes what another one holds":  {twoAtOnce, "I5", blind(asks, running)},
		"a question takes what is completed": {
			resolved, "I2", blind(asks, func(h store.Record) bool { return h.Status == store.StatusCompleted }),
		},
		"an execution begins beside a question": {again, "I5", func(s store.Store, c call) reply {
			if c.Op == opSwap && c.Seen.Reason == store.ReasonReleased {
				c.Seen.Reason = held(s, c.Key).Reason
			}
			got := c.Make(t.Context(), s)
			if h := &got.Held; c.Op == opClaim && h.Status == store.StatusInProgress && h.Attention != "" {
				h.Reason = store.ReasonReleased
			}
			return got
		}},
		"a question that dies leaves what may be executed": {
			"reconcile: a death, then anybody", "I1 one execution",
			writes(asks, func(next *store.Record) { next.Reason = "" }),
		},
		"a question that dies leaves a released record that is UNKNOWN": {
			"reconcile: released with steps, refuse", "I13 what can be resumed stays so",
			writes(asks, func(next *store.Record) {
				if next.Reason == store.ReasonAsked {
					next.Reason = store.ReasonCrashed
				}
			}),
		},
		"a question takes the record off the list": {again, onTheList, writes(asks, unlisted)},
		"a question is not due when its lease has ended": {
			again, onTheList, writes(asks, func(next *store.Record) { next.AttentionAt = next.Lease.Add(time.Hour) }),
		},
		"a record that was asked about in vain is on no list": {again, onTheList, writes(putsBack, unlisted)},
		"it is due too late": {again, onTheList, writes(putsBack, func(next *store.Record) {
			next.AttentionAt = next.AttentionAt.Add(time.Hour)
		})},
		"a question in vain is not counted": {
			again, tries, alters(opSwap, func(_ store.Record, c *call) {
				if putsBack(c) {
					c.Next.Tries = c.Seen.Tries
				}
			}),
		},
		"it is counted twice": {again, tries, writes(putsBack, func(next *store.Record) { next.Tries++ })},
		"a question forgets those before": {
			givesUp, tries, writes(asks, func(next *store.Record) { next.Tries = 0 }),
		},
		"a record is given up after the first question": {
			givesUp, "I13 a record is given up", writes(putsBack, givenUp),
		},
		"a record is given up before somebody has taken it": {
			"reconcile: given up by somebody who may fail", "I13 a record is given up", writes(putsBack, givenUp),
		},
		"a record is never given up": {
			givesUp, "I13 what a reconciliation tells is true",
			writes(putsBack, func(next *store.Record) { next.Attention = store.AttentionOf(next.Key) }),
		},
		"another result is stored than was found": {again, counts, writes(found, func(next *store.Record) {
			next.Result = []byte(`{"by":"nobody","amount":5}`)
			next.Seal = store.Seal(next.Owner, next.Result)
		})},
		"a question in vain releases the record": {again, counts, writes(putsBack, func(next *store.Record) {
			next.Status, next.Reason = store.StatusInProgress, store.ReasonReleased
		})},
		"a question in vain changes why the record is UNKNOWN": {
			again, counts, writes(putsBack, func(next *store.Record) { next.Reason = store.ReasonPanic }),
		},
		"what nobody has done stays UNKNOWN": {again, "I13", writes(absolves, func(next *store.Record) {
			next.Status, next.Reason, next.Attention = store.StatusUnknown, store.ReasonUncertain,
				store.AttentionOf(next.Key)
		})},
		"what nobody has done is deleted": {
			again, "I13 a reconciliation changes nothing that is completed",
			alters(opSwap, func(_ store.Record, c *call) {
				if absolves(c) {
					c.Op = opDelete
				}
			}),
		},
		"what nobody has done stays on the list": {
			again, onTheList,
			writes(absolves, func(next *store.Record) { next.Attention = store.AttentionOf(next.Key) }),
		},
		"an answer counts although the claim is lost": {
			"reconcile: two at once, a message is late", counts, blind(ends, running),
		},
		"an answer counts although an operator has settled the record": {
			"reconcile: an operator and a late message", "I1 one execution",
			blind(ends, func(h store.Record) bool { return h.SettledBy == "the operator" }),
		},
	})
}
