package explore

import (
	"context"
	"maps"
	"testing"

	"github.com/go-idempotent/idempotent/store"
)

// isStep reports whether a Swap is the write of a step by who owns the record.
func isStep(c *call) bool { return len(c.Next.Steps) > 0 && c.Seen.Owner == c.Next.Owner }

// takes reports whether a Swap is a takeover.
func takes(c *call) bool {
	return c.Next.Status == store.StatusInProgress && c.Next.Reason == "" && c.Seen.Owner != c.Next.Owner
}

// writes reports whether a Swap writes a step of a kind, and which.
func writes(c *call, kind store.StepKind) (name string, step store.Step, is bool) {
	for name, step := range c.Next.Steps {
		if step.Kind == kind {
			return name, step, true
		}
	}
	return "", store.Step{}, false
}

// rewritten writes a record that is held with these steps, whatever they are.
func rewritten(s store.Store, h store.Record, steps map[string]store.Step) store.Record {
	next := h
	next.Steps = map[string]store.Step{}
	for name := range h.Steps {
		next.Steps[name] = store.Step{} // which takes it away
	}
	maps.Copy(next.Steps, steps)
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
			two, "I8 what is recorded stays",
			taken(func(s store.Store, c call, got *reply) {
				if len(got.Held.Steps) > 0 {
					got.Held = rewritten(s, held(s, c.Key), nil)
				}
			}),
		},
		"a step is written without looking at the owner": {
			two, "I5 a stale owner changes nothing",
			alters(opSwap, func(h store.Record, c *call) {
				if isStep(c) && h.Status == store.StatusInProgress {
					c.Seen, c.Next.Owner, c.Next.Lease = h, h.Owner, h.Lease
				}
			}),
		},
		"a step is written into a record that was released": {
			two, "I8 who does not own the record records nothing",
			alters(opSwap, func(h store.Record, c *call) {
				if isStep(c) && h.Reason == store.ReasonReleased {
					c.Seen, c.Next.Owner, c.Next.Reason, c.Next.Lease = h, h.Owner, h.Reason, h.Lease
				}
			}),
		},
		"a late start mark wipes a result": {
			"steps: two faults of steps", "I8 what is recorded stays",
			instead(opSwap, func(s store.Store, h store.Record, c call) reply {
				name, mark, is := writes(&c, store.StepStarted)
				if is && h.Steps[name].Kind == store.StepValue && h.Matches(c.Seen) {
					c.Seen = rewritten(s, h, nil)
					c.Next = c.Seen
					c.Next.Steps = map[string]store.Step{name: mark}
				}
				return c.Make(context.Background(), s)
			}),
		},
		"a start mark is not kept": {
			"steps: every effect, at most once", "I8 an effect of at most once never begins twice",
			alters(opSwap, func(_ store.Record, c *call) {
				if _, _, is := writes(c, store.StepStarted); is {
					c.Next.Steps = nil
				}
			}),
		},
		"a result is not kept": {
			two, "I8 a step returns the same",
			alters(opSwap, func(_ store.Record, c *call) {
				if isStep(c) {
					c.Next.Steps = nil
				}
			}),
		},
		"a release deletes the record": {
			two, "I8 what is recorded stays",
			alters(opSwap, func(_ store.Record, c *call) {
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
			two, "I7 a step is not lost",
			instead(opSwap, func(s store.Store, _ store.Record, c call) reply {
				if isStep(&c) {
					return reply{Err: &store.Error{Op: "swap", Kind: store.FailureAccessDenied, NotApplied: true}}
				}
				return c.Make(context.Background(), s)
			}),
		},
	})
}
