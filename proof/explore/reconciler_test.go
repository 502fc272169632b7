package explore

import (
	"slices"
)

// asking is a process that asks about the record, as often as it is told.
func asking(times int, how Asks) Client {
	return Client{Amount: 5, Deliveries: times, Asks: &how}
}

// reconcileScenarios are those in which somebody asks about the record beside its deliveries.
func reconcileScenarios() map[string]Scenario {
	once := asking(1, Asks{})
	with := func(n, deliveries int, more ...Client) []Client {
		return slices.Concat(clients(n, deliveries), more)
	}
	uncertain := []Ending{Succeeds, FailsUncertain}
	leaves := []Ending{FailsUncertain}
	faults := AllFaults()
	crash := []Fault{DieAfter, DieBefore, DieLate}
	lost := []Fault{LoseRequest, LoseReply, LoseLate, Repeat}
	vain := []Verdict{StillUnknown, CannotTell}
	both := []Verdict{Executed, Untouched}
	ofAsking := only(Takeover, Undo, Conclusion)
	oneStep := []Step{{Name: "a"}}
	return map[string]Scenario{
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
			Clients: with(1, 1, asking(2, Asks{})), Endings: []Ending{Fails}, LeaseSteps: 1, Steps: oneStep,
			Faults: crash, Verdicts: []Verdict{StillUnknown, Untouched},
		},
		"reconcile: two steps, one of which tells nothing": {
			Clients: with(1, 1, once), Endings: mayFail, LeaseSteps: 1,
			Steps: []Step{{Name: "a"}, {Name: "b", Once: true}}, Effects: []Effect{Happens, MayHappen}, Verdicts: both,
			Faults: crash,
		},
		"reconcile: a fault": {
			Clients: with(1, 2, once), Endings: leaves, LeaseSteps: 1, Unrepeatable: true, Faults: faults,
		},
		"reconcile: a death, then anybody": {
			Clients: with(1, 2, asking(2, Asks{})), Endings: leaves, LeaseSteps: 1, Faults: crash,
			Verdicts: []Verdict{StillUnknown, Untouched},
		},
		"reconcile: two at once": {
			Clients: with(1, 1, once, once), Endings: leaves, LeaseSteps: 1,
			Verdicts: []Verdict{StillUnknown, Executed, BreaksDown},
		},
		"reconcile: two at once, a message is late": {
			Clients: with(1, 1, once, once), Endings: leaves, LeaseSteps: 1,
			Verdicts: []Verdict{StillUnknown, Untouched}, Faults: []Fault{LoseLate, Repeat}, Strikes: ofAsking,
		},
		"reconcile: given up": {
			Clients: with(1, 1, asking(3, Asks{Due: true, Tries: 2})), Endings: leaves, LeaseSteps: 1, DueSteps: 2,
			Verdicts: vain,
		},
		"reconcile: given up by somebody who may fail": {
			Clients: with(1, 1, asking(3, Asks{Due: true, Tries: 1, GivesUp: true})), Endings: leaves, LeaseSteps: 1,
			DueSteps: 2, Verdicts: vain, Faults: crash,
		},
		"reconcile: all of what is given up": {
			Clients: with(1, 1, asking(3, Asks{Tries: 1, GivesUp: true})), Endings: leaves, LeaseSteps: 1, Faults: lost,
			Strikes: ofAsking,
		},
		"reconcile: released with steps": {
			Clients: with(1, 2, once), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Faults: crash,
		},
		"reconcile: released with steps, refuse": {
			Clients: with(1, 2, once), Endings: []Ending{Succeeds, FailsNotExecuted}, LeaseSteps: 1, Steps: oneStep,
			Unrepeatable: true, Faults: crash,
		},
		"reconcile: start marks": {
			Clients: with(1, 2, once), Endings: mayFail, LeaseSteps: 1, Steps: []Step{{Name: "a", Once: true}},
			Faults: crash, Effects: []Effect{Happens, MayHappen}, Verdicts: both,
		},
		"reconcile: an operator": {
			Clients: with(1, 1, once), Endings: uncertain, LeaseSteps: 2, Deeds: AllDeeds(), Unrepeatable: true,
		},
		"reconcile: an operator and a late message": {
			Clients: with(1, 1, once), Endings: leaves, LeaseSteps: 1, Deeds: AllDeeds(), Verdicts: both, Faults: lost,
			Strikes: ofAsking,
		},
		"reconcile: the expiry": {
			Clients: with(1, 2, once), Endings: leaves, LeaseSteps: 1, ExpirySteps: 1, Unrepeatable: true,
		},
		"reconcile: timed, a resolver that hangs": {
			Clients: []Client{dated, dated, once}, Endings: leaves, Timed: true, TimeSteps: 4,
		},
		"reconcile: timed, slow calls": {
			Clients: []Client{dated, once}, Endings: leaves, Timed: true, TimeSteps: 4, Faults: SlowFaults(),
			Strikes: ofAsking,
		},
		"reconcile: timed, renewals that fail": {
			Clients: []Client{dated, once}, Endings: leaves, Timed: true, TimeSteps: 4, Verdicts: both,
			Faults: []Fault{LoseLate, FailBefore, SlowRequest}, Strikes: only(Renewal),
		},
	}
}
