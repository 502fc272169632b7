package explore_test

import (
	"testing"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// operatorScenarios are those in which a person settles, releases or deletes what it was shown a
// while ago.
func operatorScenarios() map[string]explore.Scenario {
	deeds := explore.AllDeeds()
	some := []explore.Deed{explore.SettlesExecuted, explore.SettlesNotExecuted, explore.Deletes}
	lost := []explore.Fault{
		explore.LoseRequest, explore.LoseReply, explore.LoseLate, explore.FailBefore, explore.FailAfter,
		explore.FailLate, explore.Repeat,
	}
	mayBeUncertain := []explore.Ending{explore.Succeeds, explore.FailsUncertain}
	return map[string]explore.Scenario{
		"operator: two deliveries that overrun their lease": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Deeds: deeds,
		},
		"operator: every ending": {
			Clients: clients(1, 2), Endings: anyEnd, LeaseSteps: 1, Deeds: deeds,
		},
		"operator: unrepeatable": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Unrepeatable: true,
		},
		"operator: a crash": {
			Clients: clients(2, 1), Endings: succeeds, LeaseSteps: 1, Deeds: deeds,
			Faults:    []explore.Fault{explore.DieAfter, explore.DieLate},
			MaxFaults: 1, Unrepeatable: true,
		},
		"operator: its message meets a fault": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Faults: lost, MaxFaults: 1,
			Strikes: only(explore.OfOperator),
		},
		"operator: a message of an owner is late": {
			Clients: clients(2, 1), Endings: succeeds, LeaseSteps: 1, Deeds: some,
			Faults: []explore.Fault{explore.LoseLate, explore.Repeat}, MaxFaults: 1,
			Strikes: only(explore.Claim, explore.Takeover, explore.Completion, explore.Undo),
		},
		"operator: two requests, and the expiry": {
			Clients: rivals, Endings: mayBeUncertain, LeaseSteps: 1, ExpirySteps: 1, Deeds: some,
		},
		"operator: a resolver": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Resolver: true,
		},
		"operator: timed, renewals that fail": {
			Clients: []explore.Client{renewing, dated}, Endings: succeeds, Timed: true, TimeSteps: 3,
			Deeds: deeds, MaxFaults: 1,
			Faults: []explore.Fault{explore.LoseLate, explore.SlowRequest}, Strikes: only(explore.Renewal),
		},
	}
}

// operatorMustBeSeen is what these scenarios have to lead to.
var operatorMustBeSeen = []string{
	"operator is shown: in-progress", "operator is shown: crashed", "operator is shown: unknown",
	"operator is shown: completed",
	"operator is shown: expired",
	"operator settles it as executed: done", "operator settles it as executed: not done",
	"operator settles it as not executed: done", "operator settles it as not executed: not done",
	"operator settles it as failed: done", "operator settles it as failed: not done",
	"operator releases it: done", "operator releases it: not done", "operator deletes it: done",
	"operator deletes it: not done",
	"operator applied: settles it as executed", "operator applied: settles it as not executed",
	"operator applied: releases it",
	"operator applied: settles it as failed", "operator applied: deletes it",
	"takeover of a released record", "superseded by a verdict", "replayed a verdict",
	"late change of an operator applied",
	"late change of an operator refused",
}

// TestEveryGuardOfAnOperatorIsMissed takes out what keeps an operator and an owner apart.
func TestEveryGuardOfAnOperatorIsMissed(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		store    planted
	}{
		"a swap that does not compare the owner": {"operator: two deliveries that overrun their lease", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if h := held(s, seen.Key); h.Status == seen.Status && next.SettledBy != "" {
					seen = h
				}
				return s.Swap(t.Context(), seen, next)
			},
		}},
		"a delete that does not compare the owner": {"operator: two deliveries that overrun their lease", planted{
			delete: func(s *memory.Store, seen store.Record) (bool, error) {
				if h := held(s, seen.Key); h.Status == seen.Status {
					seen = h
				}
				return s.Delete(t.Context(), seen)
			},
		}},
		"a settlement that leaves the owner": {"operator: two deliveries that overrun their lease", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if next.Reason == store.ReasonReleased {
					next.Owner = seen.Owner
				}
				return s.Swap(t.Context(), seen, next)
			},
		}},
		"a settlement that leaves no name": {"operator: unrepeatable", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				next.SettledBy = ""
				return s.Swap(t.Context(), seen, next)
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, c.scenario, "I11",
				func(explore.Scenario) store.Store { c.store.Store = memory.New(); return c.store })
		})
	}
}
