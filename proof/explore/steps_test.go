package explore

import (
	"time"

	"github.com/go-idempotent/idempotent"
)

var (
	twoSteps   = []Step{{Name: "a"}, {Name: "b"}}
	oneStep    = []Step{{Name: "a"}}
	onceSteps  = []Step{{Name: "a", Once: true}, {Name: "b"}}
	askedSteps = []Step{{Name: "a", Once: true, Asks: true}}
	mayStumble = []Effect{Happens, Stumbles}
)

// stepScenarios are those of handlers with steps.
func stepScenarios() map[string]Scenario {
	faults := AllFaults()
	late := []Fault{LoseLate, FailLate, FailAfter, Repeat}
	slow := SlowFaults()
	lost := []Fault{LoseLate, FailBefore, FailAfter, DieAfter}
	deeds := append(AllDeeds(), StepDeeds()...)
	crash := []Fault{DieAfter}
	stepCalls := only(StepMark, StepRecord)
	marked := []Effect{Happens, HappensNot, MayHappen}
	return map[string]Scenario{
		"steps: two deliveries": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Steps: twoSteps, Effects: mayStumble,
		},
		"steps: two deliveries, refuse": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Steps: twoSteps, Unrepeatable: true,
		},
		"steps: every effect and every ending": {
			Clients: clients(1, 3), Endings: anyEnd, LeaseSteps: 1, Steps: oneStep, Effects: AllEffects(),
			EndsEarly: true,
		},
		"steps: every effect, at most once": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: onceSteps, Effects: AllEffects(),
		},
		"steps: every effect, at most once, resolver of the step": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: askedSteps, Effects: AllEffects(),
			EndsEarly: true,
		},
		"steps: every effect, refuse": {
			Clients: clients(1, 3), Endings: anyEnd, LeaseSteps: 1, Steps: oneStep, Effects: AllEffects(),
			Unrepeatable: true, EndsEarly: true,
		},
		"steps: every effect, careless": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Steps: twoSteps, Effects: AllEffects(),
			Careless: true,
		},
		"steps: one fault": {Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: twoSteps, Faults: faults},
		"steps: one fault, at most once": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: onceSteps, Effects: marked, Faults: faults,
		},
		"steps: one fault, resolver of the step": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: askedSteps, Effects: marked, Faults: faults,
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
			Clients: clients(1, 3), Endings: []Ending{Succeeds, FailsUncertain}, LeaseSteps: 1, Resolver: true,
			Steps: oneStep, Faults: []Fault{FailBefore}, Strikes: only(Completion),
		},
		"steps: a resolver, at most once": {
			Clients: clients(1, 3), LeaseSteps: 1, Resolver: true, Steps: onceSteps, Effects: mayStumble, Faults: crash,
			Strikes: stepCalls,
		},
		"steps: clocks that differ": {
			Clients: skewed, Endings: mayFail, LeaseSteps: 2, Steps: twoSteps, Careless: true,
		},
		"steps: at the same time": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Steps: twoSteps, Effects: mayStumble,
			Parallel: true, Faults: []Fault{LoseLate, FailAfter}, Strikes: stepCalls,
		},
		"steps: nobody waits for them": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Abandons: true, Faults: crash,
		},
		"steps: repeatable": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep,
			Effects: []Effect{Happens, HappensUnwritten, MayHappen},
			Options: []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}, Faults: faults,
		},
		"steps: timed, renewals and a release": {
			Clients: []Client{{Amount: 5, Deliveries: 2, NoDeadline: true}}, Endings: mayFail, Timed: true,
			TimeSteps: 4, Steps: oneStep, Faults: []Fault{LoseLate, LoseReply, Repeat}, Strikes: only(Renewal),
		},
		"steps: timed, a lost lease, refuse": {
			Clients: []Client{renewing, dated}, Timed: true, TimeSteps: 3, Steps: twoSteps, Unrepeatable: true,
			Faults: slow, Strikes: only(Renewal),
		},
		"steps: timed, a slow step": {
			Clients: []Client{renewing, dated}, Endings: mayFail, Timed: true, TimeSteps: 4, Steps: oneStep,
			Faults: slow, Strikes: stepCalls,
		},
		"steps: timed, a short retention": {
			Clients: []Client{renewing, dated}, Timed: true, TimeSteps: 4, Steps: oneStep,
			Options: []idempotent.Option{idempotent.WithRetention(time.Second)}, Faults: []Fault{LoseReply, Repeat},
			Strikes: only(Renewal, StepRecord),
		},
		"steps: clocks that differ, refuse": {
			Clients: skewed, Endings: mayFail, LeaseSteps: 2, Steps: oneStep, Effects: marked, Unrepeatable: true,
		},
		"steps: waiting": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Effects: mayStumble, Faults: lost,
			Options: []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)},
		},
		"steps: two caches": {Clients: apart, Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Before: cached},
		"steps: a resolver, refuse": {
			Clients: clients(1, 3), Endings: []Ending{Succeeds, FailsUncertain}, LeaseSteps: 1, Resolver: true,
			Steps: oneStep, Effects: marked, Unrepeatable: true, Faults: lost,
		},
		"steps: an operator": {Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Deeds: deeds, Steps: oneStep},
		"steps: an operator and every effect": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Deeds: deeds, Steps: askedSteps,
			Effects: []Effect{Happens, Stumbles, MayHappen, HappensUnwritten},
		},
		"steps: an operator and a late message": {
			Clients: clients(2, 1), LeaseSteps: 1, Deeds: deeds, Steps: oneStep, Faults: late,
			Strikes: only(StepRecord, Release, OfOperator),
		},
		"steps: an operator, refuse": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Deeds: deeds, Steps: oneStep, Unrepeatable: true,
			Faults: crash,
		},
		"steps: the expiry": {Clients: rivals, ExpirySteps: 1, Steps: oneStep, Faults: late, Strikes: stepCalls},
	}
}
