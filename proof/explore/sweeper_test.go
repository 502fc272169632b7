package explore_test

import (
	"testing"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// sweepScenarios are those in which sweeps go through the store beside deliveries, and beside whoever asks about the record.
func sweepScenarios() map[string]explore.Scenario {
	crash := []explore.Fault{explore.DieAfter, explore.DieBefore, explore.DieLate}
	late := []explore.Fault{explore.LoseLate, explore.FailLate, explore.DieLate, explore.Repeat}
	uncertain := []explore.Ending{explore.Succeeds, explore.FailsUncertain}
	leaves := []explore.Ending{explore.FailsUncertain}
	once := asking(1, explore.Asks{})
	return map[string]explore.Scenario{
		"sweep: execute again": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Sweeps: 2,
		},
		"sweep: refuse": {
			Clients: clients(2, 1), Endings: []explore.Ending{explore.Succeeds, explore.FailsNotExecuted}, LeaseSteps: 2, Sweeps: 2, Unrepeatable: true,
		},
		"sweep: every ending, refuse": {
			Clients: clients(1, 2), Endings: anyEnd, LeaseSteps: 1, Sweeps: 1, Unrepeatable: true,
		},
		"sweep: a fault": {
			Clients: clients(2, 1), Endings: succeeds, LeaseSteps: 1, Sweeps: 1, Unrepeatable: true, Faults: late, MaxFaults: 1,
		},
		"sweep: the expiry": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, ExpirySteps: 1, Sweeps: 1, Unrepeatable: true,
		},
		"sweep: a resolver dies": {
			Clients: clients(1, 2), Endings: leaves, LeaseSteps: 1, Sweeps: 1, Resolver: true, Faults: crash, MaxFaults: 1,
		},
		"sweep: a question": {
			Clients: append(clients(1, 1), once), Endings: uncertain, LeaseSteps: 2, Sweeps: 1, Unrepeatable: true,
		},
		"sweep: a question dies": {
			Clients: append(clients(1, 1), once), Endings: leaves, LeaseSteps: 1, Sweeps: 2, Faults: crash, MaxFaults: 1,
		},
		"sweep: a question about what was released with steps dies": {
			Clients: append(clients(1, 1), once), Endings: []explore.Ending{explore.Fails}, LeaseSteps: 1, Sweeps: 1, Unrepeatable: true,
			Steps: []explore.Step{{Name: "a"}}, Faults: crash, MaxFaults: 1,
		},
		"sweep: steps": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Sweeps: 1, Unrepeatable: true, Steps: []explore.Step{{Name: "a"}},
			Faults: crash, MaxFaults: 1,
		},
		"sweep: start marks": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Sweeps: 1, Unrepeatable: true, Steps: []explore.Step{{Name: "a", Once: true}},
			Effects: []explore.Effect{explore.Happens, explore.MayHappen}, Faults: crash, MaxFaults: 1,
		},
		"sweep: an operator": {
			Clients: clients(2, 1), Endings: succeeds, LeaseSteps: 1, Sweeps: 1, Unrepeatable: true, Deeds: explore.AllDeeds(),
		},
		"sweep: timed, renewals that fail": {
			Clients: []explore.Client{renewing, dated}, Endings: succeeds, Timed: true, TimeSteps: 5, Sweeps: 1, Unrepeatable: true, MaxFaults: 1,
			Faults: []explore.Fault{explore.LoseLate, explore.SlowRequest, explore.DieLate}, Strikes: only(explore.Renewal),
		},
	}
}

// sweepMustBeSeen is what these scenarios have to lead to.
var sweepMustBeSeen = []string{
	"sweep: finds a crash", "sweep: finds an UNKNOWN record whose question died", "change of a sweep applied", "change of a sweep refused",
}

// TestEveryGuardOfASweepIsMissed lets the store take changes of a sweep that it has to refuse.
func TestEveryGuardOfASweepIsMissed(t *testing.T) {
	for name, c := range map[string]struct {
		scenario, breaks string
		swap             func(s *memory.Store, seen, next store.Record) (store.Record, bool, error)
	}{
		"a change that does not compare": {"sweep: refuse", "I5", func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
			if h := held(s, seen.Key); next.Status == store.StatusUnknown && next.Owner == seen.Owner && h.Status == seen.Status {
				seen = h
			}
			return s.Swap(t.Context(), seen, next)
		}},
		"a change that compares no lease": {"sweep: timed, renewals that fail", "I5", func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
			if h := held(s, seen.Key); next.Status == store.StatusUnknown && next.Owner == h.Owner && h.Status == seen.Status {
				seen = h
			}
			return s.Swap(t.Context(), seen, next)
		}},
		"a change that forgets the owner": {"sweep: refuse", "I14", func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
			if next.Status == store.StatusUnknown && next.Owner == seen.Owner {
				next.Owner = "nobody"
			}
			return s.Swap(t.Context(), seen, next)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, c.scenario, c.breaks, func(explore.Scenario) store.Store { return planted{Store: memory.New(), swap: c.swap} })
		})
	}
}
