package explore_test

import (
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// asks reports whether a Swap takes a record to ask about it.
func asks(seen, next store.Record) bool {
	return next.Status == store.StatusInProgress && next.Attempt > seen.Attempt && next.Attention != ""
}

// putsBack reports whether a Swap leaves a record that was asked about in vain.
func putsBack(seen, next store.Record) bool {
	return next.Status == store.StatusUnknown && seen.Status == store.StatusInProgress && next.Tries > 0
}

// found reports whether a Swap stores what a question has found.
func found(next store.Record) bool { return next.SettledBy == "reconciliation" }

// absolves reports whether a Swap releases a record about which somebody has said that nothing
// happened.
func absolves(next store.Record) bool {
	return next.Status == store.StatusInProgress && next.Reason == store.ReasonReleased && next.Attention == ""
}

// TestEveryGuardOfAReconciliationIsMissed takes out one guard after the other and expects the
// search to find a schedule that breaks an invariant.
func TestEveryGuardOfAReconciliationIsMissed(t *testing.T) {
	// writes is a store that makes something else of what is written.
	writes := func(what func(seen, next store.Record) bool, as func(seen, next *store.Record)) planted {
		return planted{swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
			if what(seen, next) {
				as(&seen, &next)
			}
			return s.Swap(t.Context(), seen, next)
		}}
	}
	// blind is a store that does not look at what it replaces.
	blind := func(what func(seen, next store.Record) bool, over func(h store.Record) bool) planted {
		return planted{swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
			if h := held(s, seen.Key); what(seen, next) && over(h) {
				seen = h
			}
			return s.Swap(t.Context(), seen, next)
		}}
	}
	running := func(h store.Record) bool { return h.Status == store.StatusInProgress }
	ends := func(seen, next store.Record) bool { return found(next) || putsBack(seen, next) || absolves(next) }
	of := func(what func(store.Record) bool) func(_, next store.Record) bool {
		return func(_, next store.Record) bool { return what(next) }
	}
	for name, c := range map[string]struct {
		scenario string
		store    planted
		breaks   string
	}{
		"a question takes what an execution holds": {
			"reconcile: with a resolver", blind(asks, running), "I5",
		},
		"a question takes what another one holds": {
			"reconcile: two at once", blind(asks, running), "I5",
		},
		"a question takes what is completed": {
			"reconcile: with a resolver",
			blind(asks, func(h store.Record) bool { return h.Status == store.StatusCompleted }), "I2",
		},
		"an execution begins beside a question": {
			"reconcile: execute again", planted{
				claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
					h, claimed, err := s.Claim(t.Context(), r, now)
					if h.Status == store.StatusInProgress && h.Attention != "" {
						h.Reason = store.ReasonReleased
					}
					return h, claimed, err
				},
				swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
					if seen.Reason == store.ReasonReleased {
						seen.Reason = held(s, seen.Key).Reason
					}
					return s.Swap(t.Context(), seen, next)
				},
			}, "I5",
		},
		"a question that dies leaves what may be executed": {
			"reconcile: a death, then anybody", writes(asks, func(_, next *store.Record) { next.Reason = "" }),
			"I1 one execution",
		},
		"a question that dies leaves a released record that is UNKNOWN": {
			"reconcile: released with steps, refuse", writes(asks, func(_, next *store.Record) {
				if next.Reason == store.ReasonAsked {
					next.Reason = store.ReasonCrashed
				}
			}), "I13 what can be resumed stays so",
		},
		"a question takes the record off the list": {
			"reconcile: execute again", writes(asks, func(_, next *store.Record) { next.Attention = "" }),
			"I13 an open record stays on the list",
		},
		"a question is not due when its lease has ended": {
			"reconcile: execute again",
			writes(asks, func(_, next *store.Record) { next.AttentionAt = next.Lease.Add(time.Hour) }),
			"I13 an open record stays on the list",
		},
		"a record that was asked about in vain is on no list": {
			"reconcile: execute again", writes(putsBack, func(_, next *store.Record) { next.Attention = "" }),
			"I13 an open record stays on the list",
		},
		"it is due too late": {
			"reconcile: execute again",
			writes(putsBack, func(_, next *store.Record) { next.AttentionAt = next.AttentionAt.Add(time.Hour) }),
			"I13 an open record stays on the list",
		},
		"a question in vain is not counted": {
			"reconcile: execute again", writes(putsBack, func(seen, next *store.Record) { next.Tries = seen.Tries }),
			"I13 tries are what was asked in vain",
		},
		"it is counted twice": {
			"reconcile: execute again", writes(putsBack, func(_, next *store.Record) { next.Tries++ }),
			"I13 tries are what was asked in vain",
		},
		"a question forgets those before": {
			"reconcile: given up", writes(asks, func(_, next *store.Record) { next.Tries = 0 }),
			"I13 tries are what was asked in vain",
		},
		"a record is given up after the first question": {
			"reconcile: given up", writes(putsBack,
				func(_, next *store.Record) { next.Attention = store.GivenUpOf(next.Key) }), "I13 a record is given up",
		},
		"a record is given up before somebody has taken it": {
			"reconcile: given up by somebody who may fail",
			writes(putsBack, func(_, next *store.Record) { next.Attention = store.GivenUpOf(next.Key) }),
			"I13 a record is given up",
		},
		"a record is never given up": {
			"reconcile: given up", writes(putsBack,
				func(_, next *store.Record) { next.Attention = store.AttentionOf(next.Key) }),
			"I13 what a reconciliation tells is true",
		},
		"another result is stored than was found": {
			"reconcile: execute again", writes(of(found), func(_, next *store.Record) {
				next.Result = []byte(`{"by":"nobody","amount":5}`)
				next.Seal = store.Seal(next.Owner, next.Result)
			}), "I13 an answer counts",
		},
		"a question in vain releases the record": {
			"reconcile: execute again", writes(putsBack, func(_, next *store.Record) {
				next.Status, next.Reason = store.StatusInProgress, store.ReasonReleased
			}), "I13 an answer counts",
		},
		"a question in vain changes why the record is UNKNOWN": {
			"reconcile: execute again",
			writes(putsBack, func(_, next *store.Record) { next.Reason = store.ReasonPanic }), "I13 an answer counts",
		},
		"what nobody has done stays UNKNOWN": {
			"reconcile: execute again", writes(of(absolves), func(_, next *store.Record) {
				next.Status, next.Reason, next.Attention = store.StatusUnknown, store.ReasonUncertain,
					store.AttentionOf(next.Key)
			}), "I13",
		},
		"what nobody has done is deleted": {
			"reconcile: execute again",
			planted{swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if absolves(next) {
					deleted, err := s.Delete(t.Context(), seen)
					return store.Record{}, deleted, err
				}
				return s.Swap(t.Context(), seen, next)
			}},
			"I13 a reconciliation changes nothing that is completed",
		},
		"what nobody has done stays on the list": {
			"reconcile: execute again",
			writes(of(absolves), func(_, next *store.Record) { next.Attention = store.AttentionOf(next.Key) }),
			"I13 an open record stays on the list",
		},
		"an answer counts although the claim is lost": {
			"reconcile: two at once, a message is late", blind(ends, running), "I13 an answer counts",
		},
		"an answer counts although an operator has settled the record": {
			"reconcile: an operator and a late message",
			blind(ends, func(h store.Record) bool { return h.SettledBy == "the operator" }), "I1 one execution",
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, c.scenario, c.breaks,
				func(explore.Scenario) store.Store { c.store.Store = memory.New(); return c.store })
		})
	}
}
