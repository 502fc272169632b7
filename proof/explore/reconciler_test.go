package explore_test

import (
	"slices"

	"github.com/go-idempotent/idempotent/proof/explore"
)

// asking is a process that asks about the record, as often as it is told.
func asking(times int, how explore.Asks) explore.Client {
	return explore.Client{Amount: 5, Deliveries: times, Asks: &how}
}

// reconcileScenarios are those in which somebody asks about the record beside its deliveries.
func reconcileScenarios() map[string]explore.Scenario {
	once := asking(1, explore.Asks{})
	with := func(n, deliveries int, more ...explore.Client) []explore.Client {
		return slices.Concat(clients(n, deliveries), more)
	}
	uncertain := []explore.Ending{explore.Succeeds, explore.FailsUncertain}
	leaves := []explore.Ending{explore.FailsUncertain}
	faults := explore.AllFaults()
	crash := []explore.Fault{explore.DieAfter, explore.DieBefore, explore.DieLate}
	lost := []explore.Fault{explore.LoseRequest, explore.LoseReply, explore.LoseLate, explore.Repeat}
	vain := []explore.Verdict{explore.StillUnknown, explore.CannotTell}
	both := []explore.Verdict{explore.Executed, explore.Untouched}
	ofAsking := only(explore.Takeover, explore.Undo, explore.Conclusion)
	oneStep := []explore.Step{{Name: "a"}}
	return map[string]explore.Scenario{
		"reconcile: execute again": {Clients: with(2, 1, once), Endings: uncertain, LeaseSteps: 2},
		"reconcile: refuse":        {Clients: with(2, 1, once), Endings: uncertain, LeaseSteps: 2, Unrepeatable: true},
		"reconcile: every ending, unrepeatable": {
			Clients: with(1, 2, once), Endings: anyEnd, LeaseSteps: 1, Unrepeatable: true,
		},
		"reconcile: with a resolver": {Clients: with(2, 1, once), Endings: uncertain, LeaseSteps: 1, Resolver: true},
		"reconcile: a resolver of a client dies": {
			Clients: with(1, 2, once), Endings: leaves, LeaseSteps: 1, Resolver: true, Faults: crash,
		},
		"reconcile: released with steps, and a question dies": {
			Clients: with(1, 1, asking(2, explore.Asks{})), Endings: []explore.Ending{explore.Fails}, LeaseSteps: 1,
			Steps: oneStep, Faults: crash, Verdicts: []explore.Verdict{explore.StillUnknown, explore.Untouched},
		},
		"reconcile: two steps, one of which tells nothing": {
			Clients: with(1, 1, once), Endings: mayFail, LeaseSteps: 1,
			Steps:   []explore.Step{{Name: "a"}, {Name: "b", Once: true}},
			Effects: []explore.Effect{explore.Happens, explore.MayHappen}, Verdicts: both, Faults: crash,
		},
		"reconcile: a fault": {
			Clients: with(1, 2, once), Endings: leaves, LeaseSteps: 1, Unrepeatable: true, Faults: faults,
		},
		"reconcile: a death, then anybody": {
			Clients: with(1, 2, asking(2, explore.Asks{})), Endings: leaves, LeaseSteps: 1, Faults: crash,
			Verdicts: []explore.Verdict{explore.StillUnknown, explore.Untouched},
		},
		"reconcile: two at once": {
			Clients: with(1, 1, once, once), Endings: leaves, LeaseSteps: 1,
			Verdicts: []explore.Verdict{explore.StillUnknown, explore.Executed, explore.BreaksDown},
		},
		"reconcile: two at once, a message is late": {
			Clients: with(1, 1, once, once), Endings: leaves, LeaseSteps: 1,
			Verdicts: []explore.Verdict{explore.StillUnknown, explore.Untouched},
			Faults:   []explore.Fault{explore.LoseLate, explore.Repeat}, Strikes: ofAsking,
		},
		"reconcile: given up": {
			Clients: with(1, 1, asking(3, explore.Asks{Due: true, Tries: 2})), Endings: leaves, LeaseSteps: 1,
			DueSteps: 2, Verdicts: vain,
		},
		"reconcile: given up by somebody who may fail": {
			Clients: with(1, 1, asking(3, explore.Asks{Due: true, Tries: 1, GivesUp: true})), Endings: leaves,
			LeaseSteps: 1, DueSteps: 2, Verdicts: vain, Faults: crash,
		},
		"reconcile: all of what is given up": {
			Clients: with(1, 1, asking(3, explore.Asks{Tries: 1, GivesUp: true})), Endings: leaves, LeaseSteps: 1,
			Faults: lost, Strikes: ofAsking,
		},
		"reconcile: released with steps": {
			Clients: with(1, 2, once), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Faults: crash,
		},
		"reconcile: released with steps, refuse": {
			Clients: with(1, 2, once), Endings: []explore.Ending{explore.Succeeds, explore.FailsNotExecuted},
			LeaseSteps: 1, Steps: oneStep, Unrepeatable: true, Faults: crash,
		},
		"reconcile: start marks": {
			Clients: with(1, 2, once), Endings: mayFail, LeaseSteps: 1,
			Steps: []explore.Step{{Name: "a", Once: true}}, Faults: crash,
			Effects: []explore.Effect{explore.Happens, explore.MayHappen}, Verdicts: both,
		},
		"reconcile: an operator": {
			Clients: with(1, 1, once), Endings: uncertain, LeaseSteps: 2, Deeds: explore.AllDeeds(),
			Unrepeatable: true,
		},
		"reconcile: an operator and a late message": {
			Clients: with(1, 1, once), Endings: leaves, LeaseSteps: 1, Deeds: explore.AllDeeds(), Verdicts: both,
			Faults: lost, Strikes: ofAsking,
		},
		"reconcile: the expiry": {
			Clients: with(1, 2, once), Endings: leaves, LeaseSteps: 1, ExpirySteps: 1, Unrepeatable: true,
		},
		"reconcile: timed, a resolver that hangs": {
			Clients: []explore.Client{dated, dated, once}, Endings: leaves, Timed: true, TimeSteps: 4,
		},
		"reconcile: timed, slow calls": {
			Clients: []explore.Client{dated, once}, Endings: leaves, Timed: true, TimeSteps: 4,
			Faults: explore.SlowFaults(), Strikes: ofAsking,
		},
		"reconcile: timed, renewals that fail": {
			Clients: []explore.Client{dated, once}, Endings: leaves, Timed: true, TimeSteps: 4, Verdicts: both,
			Faults:  []explore.Fault{explore.LoseLate, explore.FailBefore, explore.SlowRequest},
			Strikes: only(explore.Renewal),
		},
	}
}

// reconcileMustBeSeen is what these scenarios have to lead to.
var reconcileMustBeSeen = []string{
	"reconcile: asked", "reconcile: handed over", "reconcile: not handed over", "reconcile: failed",
	"reconcile: completed", "reconcile: released", "reconcile: scheduled", "reconcile: given up", "reconcile: busy",
	"reconcile: closed", "reconcile: elsewhere", "reconcile: takes UNKNOWN",
	"reconcile: takes a record that is given up", "reconcile: takes a record that was released with steps",
	"reconcile: takes a released record whose question died",
	"reconcile: takes an UNKNOWN record whose question died", "reconcile: takes a crash",
	"reconcile: leaves COMPLETED", "reconcile: leaves UNKNOWN", "reconcile: leaves a record that is given up",
	"reconcile: leaves a record that was released", "reconcile: leaves a record that was released with steps",
}
