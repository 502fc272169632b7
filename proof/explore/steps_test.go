package explore_test

import (
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/proof/explore"
)

var (
	twoSteps   = []explore.Step{{Name: "a"}, {Name: "b"}}
	oneStep    = []explore.Step{{Name: "a"}}
	onceSteps  = []explore.Step{{Name: "a", Once: true}, {Name: "b"}}
	askedSteps = []explore.Step{{Name: "a", Once: true, Asks: true}}
	mayStumble = []explore.Effect{explore.Happens, explore.Stumbles}
)

// stepScenarios are those of handlers with steps.
func stepScenarios() map[string]explore.Scenario {
	faults := explore.AllFaults()
	late := []explore.Fault{explore.LoseLate, explore.FailLate, explore.FailAfter, explore.Repeat}
	slow := explore.SlowFaults()
	lost := []explore.Fault{explore.LoseLate, explore.FailBefore, explore.FailAfter, explore.DieAfter}
	deeds := append(explore.AllDeeds(), explore.StepDeeds()...)
	crash := []explore.Fault{explore.DieAfter}
	stepCalls := only(explore.StepMark, explore.StepRecord)
	marked := []explore.Effect{explore.Happens, explore.HappensNot, explore.MayHappen}
	return map[string]explore.Scenario{
		"steps: two deliveries": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Steps: twoSteps, Effects: mayStumble,
		},
		"steps: two deliveries, refuse": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Steps: twoSteps, Unrepeatable: true,
		},
		"steps: every effect and every ending": {
			Clients: clients(1, 3), Endings: anyEnd, LeaseSteps: 1, Steps: oneStep, Effects: explore.AllEffects(),
			EndsEarly: true,
		},
		"steps: every effect, at most once": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: onceSteps, Effects: explore.AllEffects(),
		},
		"steps: every effect, at most once, resolver of the step": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: askedSteps, Effects: explore.AllEffects(),
			EndsEarly: true,
		},
		"steps: every effect, refuse": {
			Clients: clients(1, 3), Endings: anyEnd, LeaseSteps: 1, Steps: oneStep, Effects: explore.AllEffects(),
			Unrepeatable: true, EndsEarly: true,
		},
		"steps: every effect, careless": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Steps: twoSteps, Effects: explore.AllEffects(),
			Careless: true,
		},
		"steps: one fault": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: twoSteps, Faults: faults,
		},
		"steps: one fault, at most once": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: onceSteps, Effects: marked,
			Faults: faults,
		},
		"steps: one fault, resolver of the step": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: askedSteps, Effects: marked,
			Faults: faults,
		},
		"steps: one fault, refuse": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Effects: marked, Faults: faults,
			Unrepeatable: true,
		},
		"steps: one fault, careless": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: twoSteps, Faults: lost, Careless: true,
		},
		"steps: two faults and a retry": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Faults: faults, MaxFaults: 2,
		},
		"steps: two faults of steps": {
			Clients: clients(2, 1), LeaseSteps: 1, Steps: onceSteps, Faults: late, MaxFaults: 2, Strikes: stepCalls,
		},
		"steps: a resolver": {
			Clients: clients(1, 3), Endings: []explore.Ending{explore.Succeeds, explore.FailsUncertain},
			LeaseSteps: 1, Resolver: true, Steps: oneStep, Faults: []explore.Fault{explore.FailBefore},
			Strikes: only(explore.Completion),
		},
		"steps: a resolver, at most once": {
			Clients: clients(1, 3), LeaseSteps: 1, Resolver: true, Steps: onceSteps, Effects: mayStumble,
			Faults: crash, Strikes: stepCalls,
		},
		"steps: clocks that differ": {
			Clients: skewed, Endings: mayFail, LeaseSteps: 2, Steps: twoSteps, Careless: true,
		},
		"steps: at the same time": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Steps: twoSteps, Effects: mayStumble,
			Parallel: true, Faults: []explore.Fault{explore.LoseLate, explore.FailAfter}, Strikes: stepCalls,
		},
		"steps: nobody waits for them": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Abandons: true, Faults: crash,
		},
		"steps: repeatable": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep,
			Effects: []explore.Effect{explore.Happens, explore.HappensUnwritten, explore.MayHappen},
			Options: []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}, Faults: faults,
		},
		"steps: timed, renewals and a release": {
			Clients: []explore.Client{{Amount: 5, Deliveries: 2, NoDeadline: true}}, Endings: mayFail, Timed: true,
			TimeSteps: 4, Steps: oneStep,
			Faults:  []explore.Fault{explore.LoseLate, explore.LoseReply, explore.Repeat},
			Strikes: only(explore.Renewal),
		},
		"steps: timed, a lost lease, refuse": {
			Clients: []explore.Client{renewing, dated}, Timed: true, TimeSteps: 3, Steps: twoSteps,
			Unrepeatable: true, Faults: slow, Strikes: only(explore.Renewal),
		},
		"steps: timed, a slow step": {
			Clients: []explore.Client{renewing, dated}, Endings: mayFail, Timed: true, TimeSteps: 4, Steps: oneStep,
			Faults: slow, Strikes: stepCalls,
		},
		"steps: timed, a short retention": {
			Clients: []explore.Client{renewing, dated}, Timed: true, TimeSteps: 4, Steps: oneStep,
			Options: []idempotent.Option{idempotent.WithRetention(time.Second)},
			Faults:  []explore.Fault{explore.LoseReply, explore.Repeat},
			Strikes: only(explore.Renewal, explore.StepRecord),
		},
		"steps: clocks that differ, refuse": {
			Clients: skewed, Endings: mayFail, LeaseSteps: 2, Steps: oneStep, Effects: marked, Unrepeatable: true,
		},
		"steps: waiting": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Effects: mayStumble,
			Faults: lost, Options: []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)},
		},
		"steps: two caches": {Clients: apart, Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Before: cached},
		"steps: a resolver, refuse": {
			Clients: clients(1, 3), Endings: []explore.Ending{explore.Succeeds, explore.FailsUncertain},
			LeaseSteps: 1, Resolver: true, Steps: oneStep, Effects: marked, Unrepeatable: true, Faults: lost,
		},
		"steps: an operator": {Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Deeds: deeds, Steps: oneStep},
		"steps: an operator and every effect": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Deeds: deeds, Steps: askedSteps,
			Effects: []explore.Effect{explore.Happens, explore.Stumbles, explore.MayHappen, explore.HappensUnwritten},
		},
		"steps: an operator and a late message": {
			Clients: clients(2, 1), LeaseSteps: 1, Deeds: deeds, Steps: oneStep, Faults: late,
			Strikes: only(explore.StepRecord, explore.Release, explore.OfOperator),
		},
		"steps: an operator, refuse": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Deeds: deeds, Steps: oneStep, Unrepeatable: true,
			Faults: crash,
		},
		"steps: the expiry": {Clients: rivals, ExpirySteps: 1, Steps: oneStep, Faults: late, Strikes: stepCalls},
	}
}

// stepMustBeSeen is what these scenarios have to lead to.
var stepMustBeSeen = []string{
	"step: begun", "step: recorded", "step: resumed", "step: resolved", "step: lost", "step: lost lease",
	"step: refused", "step: unknown", "step: its own error", "step: fails for ever", "late step applied",
	"late step refused", "late start mark applied", "late start mark refused", "fault: is on its way, no reply",
	"slow step", "kept release", "kept release of an UNKNOWN record", "takeover of a released record",
	"takeover of a crash with steps", "takeover that finds a step added after the look",
	"step recorded although UNKNOWN", "resolver of a step says executed", "resolver of a step says untouched",
	"resolver of a step says still unknown", "operator settles its step as executed: done",
	"operator settles its step as failed: done", "operator takes a start mark away",
}
