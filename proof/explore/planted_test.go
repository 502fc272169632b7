package explore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// fault makes the calls of a store of which one guard was taken out.
type fault func(s store.Store, c call) reply

// instead is a fault of the calls of one method. It knows the record that is held.
func instead(op calls.Op, do func(s store.Store, h store.Record, c call) reply) fault {
	return func(s store.Store, c call) reply {
		if c.Op != op {
			return c.Make(context.Background(), s)
		}
		return do(s, held(s, c.Key), c)
	}
}

// alters makes another call of those of one method.
func alters(op calls.Op, as func(h store.Record, c *call)) fault {
	return instead(op, func(s store.Store, h store.Record, c call) reply {
		as(h, &c)
		return c.Make(context.Background(), s)
	})
}

// writes makes something else of what is written, by those Swaps that are meant.
func writes(meant func(c *call) bool, as func(next *store.Record)) fault {
	return alters(opSwap, func(_ store.Record, c *call) {
		if meant(c) {
			as(&c.Next)
		}
	})
}

// claims makes something else of what is claimed.
func claims(as func(next *store.Record)) fault {
	return alters(opClaim, func(_ store.Record, c *call) { as(&c.Next) })
}

// blind does not look at what it replaces, in those calls of one method that are meant.
func blind(op calls.Op, meant func(c *call) bool, over func(h store.Record) bool) fault {
	return alters(op, func(h store.Record, c *call) {
		if meant(c) && over(h) {
			c.Seen = h
		}
	})
}

// held is the record under a key, as seen by a write that does not look.
func held(s store.Store, key string) store.Record {
	r, _, err := s.Get(context.Background(), key)
	if err != nil {
		panic(err)
	}
	return r
}

// missing is a guard that was taken out, the scenario in which that shows, and what it breaks.
type missing struct {
	scenario, breaks string
	fault            fault
}

// requireMissed searches for a schedule that breaks an invariant, one guard after the other.
func requireMissed(t *testing.T, all map[string]missing) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			requireBroken(t, c.scenario, c.breaks, func(s *Scenario) { s.Plant = c.fault })
		})
	}
}

// requireBroken searches a scenario with a fault planted, and requires a schedule that breaks a
// rule.
func requireBroken(t *testing.T, scenario, rule string, plant func(*Scenario)) {
	t.Helper()
	s, found := scenarios()[scenario]
	require.True(t, found, scenario)
	plant(&s)
	r := searchOf(t, s)
	require.NotNil(t, r.Violation, "no schedule shows that the guard is gone")
	assert.Contains(t, r.Violation.Err.Error(), rule)
	assert.NotEmpty(t, r.Violation.Story)
}

// TestEveryGuardOfTheStoreIsMissed takes out one guard after the other and expects the search to
// find a schedule that breaks an invariant.
func TestEveryGuardOfTheStoreIsMissed(t *testing.T) {
	const three, overruns = "three deliveries", "operator: two deliveries that overrun their lease"
	asHeld := func(h store.Record, c *call) { c.Seen = h }
	all := func(*call) bool { return true }
	requireMissed(t, map[string]missing{
		"claims over a record in progress": {
			three, "I5", alters(opClaim, func(h store.Record, c *call) {
				if h.Status == store.StatusInProgress {
					c.Op, c.Seen = opSwap, h
				}
			}),
		},
		"claims over a completed record that has not expired": {
			three, "I2", alters(opClaim, func(_ store.Record, c *call) { c.Now = c.Now.Add(48 * time.Hour) }),
		},
		"swaps without looking":   {three, "I2", alters(opSwap, asHeld)},
		"deletes without looking": {three, "I2", alters(opDelete, asHeld)},
		"does not show what refuses": {
			three, "I4", instead(opClaim, func(s store.Store, _ store.Record, c call) reply {
				return reply{Done: c.Make(context.Background(), s).Done}
			}),
		},
		"loses a result":  {three, "I2", writes(all, func(next *store.Record) { next.Result = nil })},
		"loses the owner": {three, "I6", claims(func(next *store.Record) { next.Owner = "somebody" })},
		"loses the fingerprint": {
			"two requests under one key", "I3", claims(func(next *store.Record) { next.Fingerprint = "1:x" }),
		},
		"releases what is to be completed": {
			three, "I7 a record whose handler has a result is not released",
			alters(opSwap, func(h store.Record, c *call) {
				if c.Next.Status == store.StatusCompleted {
					c.Op, c.Seen = opDelete, h
				}
			}),
		},
		"lets a delayed renewal shorten a lease": {
			"timed: a fault of a renewal", "I1 a lease only grows",
			instead(opSwap, func(s store.Store, h store.Record, c call) reply {
				if next := c.Next; h.Status == next.Status && h.Owner == next.Owner && next.Lease.Before(h.Lease) {
					nobody := h
					nobody.Owner = "nobody"
					if _, swapped, err := s.Swap(context.Background(), c.Seen, nobody); err != nil || !swapped {
						return reply{Held: h, Err: err}
					}
					c.Seen = nobody
				}
				return c.Make(context.Background(), s)
			}),
		},
		"does not give an expired UNKNOWN away": {
			"unknown and expired", "I4", instead(opClaim, func(s store.Store, h store.Record, c call) reply {
				if h.Status == store.StatusUnknown {
					return reply{Held: h}
				}
				return c.Make(context.Background(), s)
			}),
		},
		"a swap that does not compare the owner": {
			overruns, "I11", alters(opSwap, func(h store.Record, c *call) {
				if h.Status == c.Seen.Status && c.Next.SettledBy != "" {
					c.Seen = h
				}
			}),
		},
		"a delete that does not compare the owner": {
			overruns, "I11", alters(opDelete, func(h store.Record, c *call) {
				if h.Status == c.Seen.Status {
					c.Seen = h
				}
			}),
		},
		"a settlement that leaves the owner": {
			overruns, "I11", alters(opSwap, func(_ store.Record, c *call) {
				if c.Next.Reason == store.ReasonReleased {
					c.Next.Owner = c.Seen.Owner
				}
			}),
		},
		"a settlement that leaves no name": {
			"operator: unrepeatable", "I11", writes(all, func(next *store.Record) { next.SettledBy = "" }),
		},
	})
}

// TestACrashThatNobodyListsIsMissed takes the attention out of claims, and leaves it in what is
// settled.
func TestACrashThatNobodyListsIsMissed(t *testing.T) {
	unlisted := claims(func(next *store.Record) { next.Attention, next.AttentionAt = "", time.Time{} })
	requireMissed(t, map[string]missing{
		"a claim that refuses crashes carries no attention": {
			"attention: killed in the first execution, refuse", "I13 no open record is lost", unlisted,
		},
		"a claim that has a resolver carries none": {
			"attention: killed in the first execution, a resolver", "I13 no open record is lost", unlisted,
		},
		"a completion keeps it": {
			"attention: an owner comes back", "I13 nothing is on the list",
			alters(opSwap, func(_ store.Record, c *call) {
				if c.Next.Status == store.StatusCompleted {
					c.Next.Attention, c.Next.AttentionAt = c.Seen.Attention, c.Seen.AttentionAt
				}
			}),
		},
		"a claim of a handler that executes again carries it": {
			"two deliveries, ends of leases and expiry", "I13 nothing is on the list", claims(func(next *store.Record) {
				next.Attention, next.AttentionAt = store.AttentionOf(next.Key), next.Lease
			}),
		},
	})
}

// isStep reports whether a Swap is the write of a step by who owns the record.
func isStep(c *call) bool { return len(c.Next.Steps) > 0 && c.Seen.Owner == c.Next.Owner }

// takes reports whether a Swap is a takeover.
func takes(c *call) bool {
	return c.Next.Status == store.StatusInProgress && c.Next.Reason == "" && c.Seen.Owner != c.Next.Owner
}

// emptied takes the steps off a record that is held.
func emptied(s store.Store, h store.Record) store.Record {
	next := h
	next.Steps = map[string]store.Step{}
	for name := range h.Steps {
		next.Steps[name] = store.Step{} // which takes it away
	}
	if _, swapped, err := s.Swap(context.Background(), h, next); err != nil || !swapped {
		panic("the planted fault did not happen")
	}
	return held(s, h.Key)
}

// TestEveryGuardOfStepsInAStoreIsMissed takes out one guard after the other and expects the search
// to find a schedule that breaks an invariant.
func TestEveryGuardOfStepsInAStoreIsMissed(t *testing.T) {
	const two = "steps: two deliveries"
	// taken is a fault of what a takeover has left.
	taken := func(as func(s store.Store, c call, got *reply)) fault {
		return instead(opSwap, func(s store.Store, _ store.Record, c call) reply {
			got := c.Make(context.Background(), s)
			if got.Done && takes(&c) {
				as(s, c, &got)
			}
			return got
		})
	}
	requireMissed(t, map[string]missing{
		"a takeover shows the record as it was seen": {
			two, "I8 a recorded step is never begun again",
			taken(func(_ store.Store, c call, got *reply) { got.Held.Steps = c.Seen.Steps }),
		},
		"a takeover forgets the steps": {
			two, "I8 what is recorded stays", taken(func(s store.Store, c call, got *reply) {
				if len(got.Held.Steps) > 0 {
					got.Held = emptied(s, held(s, c.Key))
				}
			}),
		},
		"a step is written without looking at the owner": {
			two, "I5 a stale owner changes nothing", alters(opSwap, func(h store.Record, c *call) {
				if isStep(c) && h.Status == store.StatusInProgress {
					c.Seen, c.Next.Owner, c.Next.Lease = h, h.Owner, h.Lease
				}
			}),
		},
		"a step is written into a record that was released": {
			two, "I8 who does not own the record records nothing", alters(opSwap, func(h store.Record, c *call) {
				if isStep(c) && h.Reason == store.ReasonReleased {
					c.Seen, c.Next.Owner, c.Next.Reason, c.Next.Lease = h, h.Owner, h.Reason, h.Lease
				}
			}),
		},
		"a late start mark wipes a result": {
			"steps: two faults of steps", "I8 what is recorded stays",
			instead(opSwap, func(s store.Store, h store.Record, c call) reply {
				for name := range c.Next.Steps {
					if c.marks() && h.Steps[name].Kind == store.StepValue && h.Matches(c.Seen) {
						mark := c.Next.Steps
						c.Seen = emptied(s, h)
						c.Next = c.Seen
						c.Next.Steps = mark
					}
				}
				return c.Make(context.Background(), s)
			}),
		},
		"a start mark is not kept": {
			"steps: every effect, at most once", "I8 an effect of at most once never begins twice",
			writes((*call).marks, func(next *store.Record) { next.Steps = nil }),
		},
		"a result is not kept": {
			two, "I8 a step returns the same", writes(isStep, func(next *store.Record) { next.Steps = nil }),
		},
		"a release deletes the record": {
			two, "I8 what is recorded stays", alters(opSwap, func(_ store.Record, c *call) {
				if c.Next.Reason == store.ReasonReleased {
					c.Op = opDelete
				}
			}),
		},
		"a crash is taken over by who saw no start mark": {
			"steps: two deliveries, refuse", "I8 a crash is resumed if and only if",
			alters(opSwap, func(_ store.Record, c *call) {
				if takes(c) {
					c.Seen.StepWrites = store.AnyStepWrites
				}
			}),
		},
		"a step is denied": {
			two, "I7 a step is not lost", instead(opSwap, func(s store.Store, _ store.Record, c call) reply {
				if isStep(&c) {
					return reply{Err: &store.Error{Op: "swap", Kind: store.FailureAccessDenied, NotApplied: true}}
				}
				return c.Make(context.Background(), s)
			}),
		},
	})
}

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
	running := func(h store.Record) bool { return h.Status == store.StatusInProgress }
	ends := func(c *call) bool { return found(c) || putsBack(c) || absolves(c) }
	givenUp := func(next *store.Record) { next.Attention = store.GivenUpOf(next.Key) }
	unlisted := func(next *store.Record) { next.Attention = "" }
	const again, twoAtOnce, givesUp = "reconcile: execute again", "reconcile: two at once", "reconcile: given up"
	const resolved, counts = "reconcile: with a resolver", "I13 an answer counts"
	const onTheList, tries = "I13 an open record stays on the list", "I13 tries are what was asked in vain"
	requireMissed(t, map[string]missing{
		"a question takes what an execution holds": {resolved, "I5", blind(opSwap, asks, running)},
		"a question takes what another one holds":  {twoAtOnce, "I5", blind(opSwap, asks, running)},
		"a question takes what is completed": {
			resolved, "I2", blind(opSwap, asks, func(h store.Record) bool { return h.Status == store.StatusCompleted }),
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
		"it is counted twice":             {again, tries, writes(putsBack, func(next *store.Record) { next.Tries++ })},
		"a question forgets those before": {givesUp, tries, writes(asks, func(next *store.Record) { next.Tries = 0 })},
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
			"reconcile: two at once, a message is late", counts, blind(opSwap, ends, running),
		},
		"an answer counts although an operator has settled the record": {
			"reconcile: an operator and a late message", "I1 one execution",
			blind(opSwap, ends, func(h store.Record) bool { return h.SettledBy == "the operator" }),
		},
	})
}
