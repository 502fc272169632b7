package explore_test

import (
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// attentionScenarios are those in which a process may die in its first execution, and only who
// reads the index learns of it.
func attentionScenarios() map[string]explore.Scenario {
	crash := []explore.Fault{explore.DieAfter, explore.DieBefore, explore.DieLate}
	late := []explore.Fault{explore.LoseLate, explore.FailLate, explore.DieLate, explore.Repeat}
	byIndex := asking(1, explore.Asks{Due: true, Index: true})
	twice := asking(2, explore.Asks{Due: true, Index: true, Tries: 2})
	told := []explore.Verdict{explore.Executed, explore.Untouched}
	one := []explore.Client{{Amount: 5, Deliveries: 1}}
	return map[string]explore.Scenario{
		"attention: killed in the first execution, refuse": {
			Clients: append(one, byIndex), Endings: succeeds, LeaseSteps: 1, Unrepeatable: true,
			Faults: crash, MaxFaults: 1,
		},
		"attention: asked twice": {
			Clients: append(one, twice), Endings: succeeds, LeaseSteps: 1, DueSteps: 1, Unrepeatable: true,
			Faults: crash, MaxFaults: 1,
		},
		"attention: killed in the first execution, a resolver": {
			Clients: append(one, byIndex), Endings: succeeds, LeaseSteps: 1, Resolver: true,
			Faults: crash, MaxFaults: 1,
		},
		"attention: killed, and a retry": {
			Clients: append(clients(2, 1), byIndex), Endings: mayFail, LeaseSteps: 1, Unrepeatable: true, Faults: crash,
			MaxFaults: 1, Verdicts: told,
		},
		"attention: a completion is late": {
			Clients: append(one, byIndex), Endings: mayFail, LeaseSteps: 1, Unrepeatable: true, Faults: late,
			MaxFaults: 1, Verdicts: told,
		},
		"attention: an owner comes back": {
			Clients: append(clients(2, 1), byIndex), Endings: anyEnd, LeaseSteps: 2, Unrepeatable: true, Verdicts: told,
		},
		"attention: steps": {
			Clients: append(one, byIndex), Endings: mayFail, LeaseSteps: 1, Unrepeatable: true,
			Steps: []explore.Step{{Name: "a"}}, Faults: crash,
			MaxFaults: 1, Verdicts: told, Effects: []explore.Effect{explore.Happens, explore.MayHappen},
		},
		"attention: an operator": {
			Clients: append(one, byIndex), Endings: succeeds, LeaseSteps: 1, Unrepeatable: true,
			Deeds: explore.AllDeeds(), Verdicts: told,
			Faults: crash, MaxFaults: 1,
		},
		"attention: the expiry": {
			Clients: append(clients(1, 2), byIndex), Endings: mayFail, LeaseSteps: 1, ExpirySteps: 1,
			Unrepeatable: true, Faults: crash, MaxFaults: 1,
			Verdicts: told,
		},
		"attention: timed, beside renewals": {
			Clients: []explore.Client{renewing, byIndex}, Endings: succeeds, Timed: true, TimeSteps: 6,
			Unrepeatable: true, Verdicts: told,
			Faults: []explore.Fault{explore.LoseLate, explore.SlowRequest, explore.DieLate}, MaxFaults: 1,
			Strikes: only(explore.Renewal),
		},
	}
}

// attentionMustBeSeen is what these scenarios have to lead to.
var attentionMustBeSeen = []string{
	"the index shows a crash", "the index shows UNKNOWN", "the index shows an execution whose lease was renewed",
}

// TestACrashThatNobodyListsIsMissed takes the attention out of claims, and leaves it in what is
// settled.
func TestACrashThatNobodyListsIsMissed(t *testing.T) {
	claims := func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
		r.Attention, r.AttentionAt = "", time.Time{}
		return s.Claim(t.Context(), r, now)
	}
	for name, c := range map[string]struct {
		scenario, breaks string
		store            planted
	}{
		"a claim that refuses crashes carries no attention": {
			"attention: killed in the first execution, refuse", "I13 no open record is lost", planted{claim: claims},
		},
		"a claim that has a resolver carries none": {
			"attention: killed in the first execution, a resolver", "I13 no open record is lost",
			planted{claim: claims},
		},
		"a completion keeps it": {
			"attention: an owner comes back", "I13 nothing is on the list", planted{
				swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
					if next.Status == store.StatusCompleted {
						next.Attention, next.AttentionAt = seen.Attention, seen.AttentionAt
					}
					return s.Swap(t.Context(), seen, next)
				},
			},
		},
		"a claim of a handler that executes again carries it": {
			"two deliveries, ends of leases and expiry", "I13 nothing is on the list", planted{
				claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
					r.Attention, r.AttentionAt = store.AttentionOf(r.Key), r.Lease
					return s.Claim(t.Context(), r, now)
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, c.scenario, c.breaks,
				func(explore.Scenario) store.Store { c.store.Store = memory.New(); return c.store })
		})
	}
}
