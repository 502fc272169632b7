package explore_test

import (
	"maps"
	"testing"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// isStep reports whether a Swap is the write of a step by who owns the record.
func isStep(seen, next store.Record) bool { return len(next.Steps) > 0 && seen.Owner == next.Owner }

// takes reports whether a Swap is a takeover.
func takes(seen, next store.Record) bool {
	return next.Status == store.StatusInProgress && next.Reason == "" && seen.Owner != next.Owner
}

// TestEveryGuardOfStepsInAStoreIsMissed takes out one guard after the other and expects the search
// to find a schedule that breaks an invariant.
func TestEveryGuardOfStepsInAStoreIsMissed(t *testing.T) {
	// rewritten writes the record that is held with these steps, whatever they are.
	rewritten := func(s *memory.Store, key string, steps map[string]store.Step) {
		h := held(s, key)
		next := h
		next.Steps = maps.Clone(steps)
		for name := range h.Steps {
			if _, stays := steps[name]; !stays {
				if next.Steps == nil {
					next.Steps = map[string]store.Step{}
				}
				next.Steps[name] = store.Step{}
			}
		}
		if _, swapped, err := s.Swap(t.Context(), h, next); err != nil || !swapped {
			panic("the planted fault did not happen")
		}
	}
	for name, c := range map[string]struct {
		scenario string
		store    planted
		breaks   string
	}{
		"a takeover shows the record as it was seen": {"steps: two deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				h, swapped, err := s.Swap(t.Context(), seen, next)
				if swapped && takes(seen, next) {
					h.Steps = seen.Steps
				}
				return h, swapped, err
			},
		}, "I8 a recorded step is never begun again"},
		"a takeover forgets the steps": {"steps: two deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				h, swapped, err := s.Swap(t.Context(), seen, next)
				if swapped && takes(seen, next) && len(h.Steps) > 0 {
					rewritten(s, seen.Key, nil)
					h = held(s, seen.Key)
				}
				return h, swapped, err
			},
		}, "I8 what is recorded stays"},
		"a step is written without looking at the owner": {"steps: two deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if h := held(s, seen.Key); isStep(seen, next) && h.Status == store.StatusInProgress {
					seen = h
					next.Owner, next.Lease = h.Owner, h.Lease
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I5 a stale owner changes nothing"},
		"a step is written into a record that was released": {"steps: two deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if h := held(s, seen.Key); isStep(seen, next) && h.Reason == store.ReasonReleased {
					seen = h
					next.Owner, next.Reason, next.Lease = h.Owner, h.Reason, h.Lease
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I8 who does not own the record records nothing"},
		"a late start mark wipes a result": {"steps: two faults of steps", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				h := held(s, seen.Key)
				for name, step := range next.Steps {
					if step.Kind == store.StepStarted && h.Steps[name].Kind == store.StepValue && h.Matches(seen) {
						rewritten(s, seen.Key, nil)
						seen, next = held(s, seen.Key), held(s, seen.Key)
						next.Steps = map[string]store.Step{name: step}
						break
					}
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I8 what is recorded stays"},
		"a start mark is not kept": {"steps: every effect, at most once", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				for _, step := range next.Steps {
					if step.Kind == store.StepStarted {
						next.Steps = nil
						break
					}
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I8 an effect of at most once never begins twice"},
		"a result is not kept": {"steps: two deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if isStep(seen, next) {
					next.Steps = nil
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I8 a step returns the same"},
		"a release deletes the record": {"steps: two deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if next.Reason == store.ReasonReleased {
					deleted, err := s.Delete(t.Context(), seen)
					return store.Record{}, deleted, err
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I8 what is recorded stays"},
		"a crash is taken over by who saw no start mark": {"steps: two deliveries, refuse", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if takes(seen, next) {
					seen.StepWrites = store.AnyStepWrites
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I8 a crash is resumed if and only if"},
		"a step is denied": {"steps: two deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if isStep(seen, next) {
					return store.Record{}, false,
						&store.Error{Op: "swap", Kind: store.FailureAccessDenied, NotApplied: true}
				}
				return s.Swap(t.Context(), seen, next)
			},
		}, "I7 a step is not lost"},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, c.scenario, c.breaks,
				func(explore.Scenario) store.Store { c.store.Store = memory.New(); return c.store })
		})
	}
}
