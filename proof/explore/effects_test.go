package explore

import (
	"maps"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
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
	stepCalls := only(StepMark, StepRecord)
	marked := []Effect{Happens, HappensNot, MayHappen}
	usual := Scenario{Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep}
	all := family("steps: ", usual, map[string]Scenario{
		"two deliveries":         {LeaseSteps: 2, Steps: twoSteps, Effects: mayStumble},
		"two deliveries, refuse": {LeaseSteps: 2, Steps: twoSteps, Unrepeatable: true},
		"every effect and every ending": {
			Clients: clients(1, 3), Endings: anyEnd, Effects: AllEffects(), EndsEarly: true,
		},
		"every effect, at most once": {Clients: clients(1, 3), Steps: onceSteps, Effects: AllEffects()},
		"every effect, at most once, resolver of the step": {
			Clients: clients(1, 3), Steps: askedSteps, Effects: AllEffects(), EndsEarly: true,
		},
		"every effect, refuse": {
			Clients: clients(1, 3), Endings: anyEnd, Effects: AllEffects(), Unrepeatable: true, EndsEarly: true,
		},
		"every effect, careless": {
			Clients: clients(1, 2), Steps: twoSteps, Effects: AllEffects(), Careless: true,
		},
		"one fault":                       {Steps: twoSteps, Faults: faults},
		"one fault, at most once":         {Steps: onceSteps, Effects: marked, Faults: faults},
		"one fault, resolver of the step": {Clients: clients(1, 3), Steps: askedSteps, Effects: marked, Faults: faults},
		"one fault, refuse":               {Effects: marked, Faults: faults, Unrepeatable: true},
		"one fault, careless":             {Steps: twoSteps, Faults: lost, Careless: true},
		"two faults and a retry":          {Clients: clients(1, 3), Faults: faults, MaxFaults: 2},
		"a resolver": {
			Clients: clients(1, 3), Endings: uncertain, Resolver: true, Faults: []Fault{FailBefore},
			Strikes: only(Completion),
		},
		"clocks that differ": {Clients: skewed, LeaseSteps: 2, Steps: twoSteps, Careless: true},
		"at the same time": {
			Clients: clients(1, 2), Steps: twoSteps, Effects: mayStumble, Parallel: true,
			Faults: []Fault{LoseLate, FailAfter}, Strikes: stepCalls,
		},
		"nobody waits for them": {Abandons: true, Faults: crash},
		"repeatable": {
			Effects: []Effect{Happens, HappensUnwritten, MayHappen},
			Options: []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}, Faults: faults,
		},
		"clocks that differ, refuse": {Clients: skewed, LeaseSteps: 2, Effects: marked, Unrepeatable: true},
		"waiting": {
			Effects: mayStumble, Faults: lost, Options: []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)},
		},
		"two caches": {Clients: apart, Before: cached},
		"a resolver, refuse": {
			Clients: clients(1, 3), Endings: uncertain, Resolver: true, Effects: marked, Unrepeatable: true,
			Faults: lost,
		},
		"an operator": {LeaseSteps: 2, Deeds: deeds},
		"an operator and every effect": {
			Clients: clients(1, 2), Deeds: deeds, Steps: askedSteps,
			Effects: []Effect{Happens, Stumbles, MayHappen, HappensUnwritten},
		},
		"an operator, refuse": {Deeds: deeds, Unrepeatable: true, Faults: crash},
	})
	usual = Scenario{Clients: bothKinds, Timed: true, TimeSteps: 4, Steps: oneStep}
	maps.Copy(all, family("steps: ", usual, map[string]Scenario{
		"timed, renewals and a release": {
			Clients: []Client{{Amount: 5, Deliveries: 2, NoDeadline: true}}, Endings: mayFail,
			Faults: []Fault{LoseLate, LoseReply, Repeat}, Strikes: only(Renewal),
		},
		"timed, a lost lease, refuse": {
			TimeSteps: 3, Steps: twoSteps, Unrepeatable: true, Faults: slow, Strikes: only(Renewal),
		},
		"timed, a slow step": {Endings: mayFail, Faults: slow, Strikes: stepCalls},
		"timed, a short retention": {
			Options: []idempotent.Option{idempotent.WithRetention(time.Second)}, Faults: []Fault{LoseReply, Repeat},
			Strikes: only(Renewal, StepRecord),
		},
	}))
	maps.Copy(all, family("steps: ", Scenario{}, map[string]Scenario{
		"two faults of steps": {
			Clients: clients(2, 1), LeaseSteps: 1, Steps: onceSteps, Faults: late, MaxFaults: 2, Strikes: stepCalls,
		},
		"a resolver, at most once": {
			Clients: clients(1, 3), LeaseSteps: 1, Resolver: true, Steps: onceSteps, Effects: mayStumble, Faults: crash,
			Strikes: stepCalls,
		},
		"an operator and a late message": {
			Clients: clients(2, 1), LeaseSteps: 1, Deeds: deeds, Steps: oneStep, Faults: late,
			Strikes: only(StepRecord, Release, OfOperator),
		},
		"the expiry": {Clients: rivals, ExpirySteps: 1, Steps: oneStep, Faults: late, Strikes: stepCalls},
	}))
	return all
}

// The commits of handlers add to rows without a condition on them, so that one that is applied
// twice shows.
var (
	oneRow = []rows.Writes{{{Key: "made", Add: rows.Row{"n": 1}}}}
	// whileOpen needs a gate to be open, elseOther does without.
	whileOpen = rows.Writes{
		{Key: "made", Add: rows.Row{"n": 1}},
		{Key: "gate", If: rows.Row{"open": 1}},
	}
	elseOther = rows.Writes{{Key: "made", Add: rows.Row{"n": 100}}}
	gated     = []rows.Writes{whileOpen}
	either    = []rows.Writes{whileOpen, elseOther}

	open       = map[string]rows.Row{"gate": {"open": 1}}
	shut       = map[string]rows.Row{"gate": {"open": 0}}
	closes     = rows.Writes{{Key: "gate", Set: rows.Row{"open": 0}}}
	opens      = rows.Writes{{Key: "gate", Set: rows.Row{"open": 1}}}
	thenOpens  = []rows.Writes{opens}
	shutsOpens = []rows.Writes{closes, opens}
)

// ofCommit are the calls that a commit makes.
var (
	ofCommit = only(Commit, Fence)
	settling = only(Commit, Fence, Release, Completion)
)

// commitScenarios are those of handlers that commit.
func commitScenarios() map[string]Scenario {
	faults := AllFaults()
	every := append(append([]Fault{}, faults...), CommitFaults()...)
	late := []Fault{LoseLate, FailLate, Repeat}
	lost := []Fault{LoseReply, LoseLate, FailAfter, FailLate, Repeat}
	passing := []Fault{Contends, Throttles}
	unclear := []Fault{LoseReply, LoseLate, FailBefore, FailLate, FailAfter, Garbles}
	whatever := append([]Ending{Differs}, anyEnd...)
	answers := []Ending{Succeeds, Fails}
	repeatable := []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}
	marked := []Effect{Happens, MayHappen, HappensUnwritten}
	deeds := AllDeeds()
	slow := SlowFaults()
	all := family("commit: ", Scenario{Clients: clients(2, 1), LeaseSteps: 1, Commits: oneRow}, map[string]Scenario{
		"two deliveries, each sent twice":  {Clients: clients(2, 2), Endings: whatever},
		"three deliveries, stale owners":   {Clients: clients(3, 1), Endings: answers, LeaseSteps: 2},
		"one fault":                        {Endings: whatever, Faults: every},
		"one fault, tokens are remembered": {Endings: answers, Faults: every, Remembers: true},
		"two faults":                       {Faults: every, MaxFaults: 2, Strikes: ofCommit},
		"a fault, and one of the settlement": {
			Endings: answers, Careless: true, Faults: unclear, MaxFaults: 2, Strikes: settling,
		},
		"a fault and a careless handler": {
			Clients: clients(1, 3), Endings: whatever, Careless: true, Faults: every, MaxFaults: 2,
		},
		"an owner that learns late that it is stale": {
			Endings: answers, EndsEarly: true, LeaseSteps: 2, Faults: lost, Strikes: ofCommit,
		},
		"passing faults": {Endings: answers, Faults: passing, MaxFaults: 3, Strikes: ofCommit},
		"unrepeatable": {
			Clients: clients(1, 2), Endings: whatever, Careless: true, Faults: unclear, MaxFaults: 2,
			Unrepeatable: true, Strikes: settling,
		},
		"repeatable": {
			Clients: clients(1, 2), Endings: whatever, Careless: true, Faults: unclear, MaxFaults: 2,
			Options: repeatable, Strikes: settling,
		},
		"refuse": {Endings: whatever, LeaseSteps: 2, Faults: every, Unrepeatable: true},
		"a resolver": {
			Endings: []Ending{Succeeds, FailsUncertain}, Faults: append(late, DieLate, DieAfter), Resolver: true,
		},
		"an operator": {Endings: answers, Careless: true, LeaseSteps: 2, Deeds: deeds},
		"an operator and a late commit": {
			Clients: clients(1, 2), Endings: answers, Deeds: deeds, Faults: append(late, DieLate), Strikes: ofCommit,
		},
		"an operator, unrepeatable": {
			Clients: clients(1, 2), Endings: answers, Careless: true, Deeds: deeds, Faults: unclear, MaxFaults: 2,
			Unrepeatable: true, Strikes: settling,
		},
		"the expiry":            {Endings: answers, ExpirySteps: 1, Faults: late, Strikes: ofCommit},
		"two requests":          {Clients: rivals, Endings: answers, LeaseSteps: 2, Faults: lost, Strikes: ofCommit},
		"clocks that differ":    {Clients: skewed, Endings: answers, LeaseSteps: 2, Faults: lost},
		"two caches":            {Clients: apart, Endings: answers, Before: cached, Faults: lost, Strikes: ofCommit},
		"a running transaction": {Clients: clients(3, 1), Faults: []Fault{Conflict, Contends}, MaxFaults: 2},
		"after steps":           {Endings: answers, Steps: oneStep, Effects: mayStumble, Faults: every},
		"after lost steps": {
			Clients: clients(1, 3), Endings: answers, Careless: true, Steps: oneStep, Effects: marked, Faults: unclear,
			MaxFaults: 2, Strikes: only(StepRecord, Commit),
		},
	})
	behindGates := Scenario{
		Clients: clients(1, 2), LeaseSteps: 1, Commits: either, Rows: open, Outside: shutsOpens, Endings: answers,
	}
	maps.Copy(all, family("commit: ", behindGates, map[string]Scenario{
		"a late claim and a late commit": {
			Clients: clients(1, 1), Endings: []Ending{Fails}, Commits: gated,
			Faults: []Fault{LoseLate, FailLate, Repeat}, MaxFaults: 2, Strikes: only(Claim, Commit),
		},
		"again after one that nobody knows of": {
			Endings: whatever, Restless: true, Careless: true, Commits: []rows.Writes{whileOpen, elseOther, elseOther},
			Outside: shutsOpens[:1], Faults: unclear, MaxFaults: 2, Strikes: ofCommit,
		},
		"a gate that opens": {
			Endings: whatever, Commits: gated, Rows: shut, Outside: thenOpens, Faults: every, Strikes: ofCommit,
		},
		"other writes where the gate is shut": {
			Clients: clients(2, 1), Rows: shut, Outside: thenOpens, Faults: lost, Strikes: ofCommit,
		},
		"a gate that shuts and opens": {Faults: every, MaxFaults: 2, Strikes: ofCommit},
		"a gate that shuts and opens, tokens are remembered": {
			Faults: lost, MaxFaults: 2, Strikes: ofCommit, Remembers: true,
		},
		"a gate for two":                    {Clients: clients(2, 1), Commits: gated, Faults: late, Strikes: ofCommit},
		"again and again":                   {Endings: whatever, Restless: true, Careless: true, Faults: every},
		"unrepeatable, a gate":              {Commits: gated, Faults: lost, Unrepeatable: true, Strikes: ofCommit},
		"after steps, at most once, a gate": {Steps: onceSteps, Commits: gated, Faults: lost, Strikes: ofCommit},
	}))
	maps.Copy(all, family("commit: ", Scenario{}, map[string]Scenario{
		"beside steps, a gate": {
			Clients: clients(1, 1), LeaseSteps: 1, Steps: oneStep, Abandons: true, Commits: either, Rows: open,
			Outside: shutsOpens, Faults: late, Strikes: ofCommit,
		},
		"timed, renewals that come late": {
			Clients: []Client{renewing}, Endings: answers, Timed: true, EndsEarly: true, TimeSteps: 3, Commits: gated,
			Rows: open, Outside: shutsOpens, Faults: []Fault{LoseLate, LoseReply}, MaxFaults: 2,
			Strikes: only(Renewal, Commit, Fence),
		},
		"timed, a gate and a heartbeat": {
			Clients: []Client{renewing}, Endings: answers, Timed: true, EndsEarly: true, TimeSteps: 3, Commits: either,
			Rows: open, Outside: shutsOpens, Faults: []Fault{LoseLate, LoseReply, SlowRequest},
			Strikes: only(Renewal, Commit, Fence),
		},
		"timed, the heartbeat goes on": {Clients: bothKinds, Timed: true, TimeSteps: 4, Commits: gated, Rows: shut},
		"the expiry, tokens are remembered": {
			Clients: clients(2, 1), ExpirySteps: 1, Commits: oneRow, Faults: late, Remembers: true,
		},
		"beside steps": {
			Clients: clients(1, 2), Steps: twoSteps, Abandons: true, Commits: oneRow, Faults: lost,
			Strikes: only(StepRecord, Commit),
		},
		"timed, with a heartbeat": {
			Clients: []Client{renewing}, Endings: answers, Timed: true, EndsEarly: true, TimeSteps: 4, Commits: oneRow,
			Faults: []Fault{LoseLate, Repeat, SlowRequest, SlowReply}, Strikes: only(Renewal, Commit),
		},
		"timed, a slow commit": {
			Clients: bothKinds, Timed: true, TimeSteps: 4, Commits: oneRow, Faults: slow,
			Strikes: ofCommit,
		},
		"timed, slow steps beside it": {
			Clients: []Client{renewing}, Timed: true, TimeSteps: 3, Steps: oneStep, Abandons: true, Commits: oneRow,
			Faults: slow, Strikes: only(StepRecord),
		},
	}))
	return all
}

// orderPlaced is what the handlers commit: a message and nothing else. twoMessages are two of one
// commit.
var (
	placed      = rows.Write{Sends: entry{}, Key: "order-placed"}
	orderPlaced = []rows.Writes{{placed}}
	twoMessages = []rows.Writes{{placed, {Sends: entry{}, Key: "receipt"}}}

	// placedEither needs a gate to be open, and else sends the same message without it.
	placedEither = []rows.Writes{{placed, {Key: "gate", If: rows.Row{"open": 1}}}, {placed}}
)

var (
	arrive  = []Receives{Arrives}
	bounces = []Receives{Arrives, Bounces}
	anyhow  = []Receives{Arrives, Bounces, BouncesForGood}
	poison  = []Receives{Bounces, BouncesForGood}
)

// messageScenarios are those of messages, and of the relays and drains that deliver them.
func messageScenarios() map[string]Scenario {
	faults := RelayFaults()
	lost := []Fault{LoseReply, LoseLate, FailAfter, FailLate, Repeat}
	deaths := []Fault{DieBefore, DieAfter, DieLate}
	late := []Fault{LoseLate}
	few := []Fault{LoseReply, LoseLate, DieLate}
	return family("messages: ", Scenario{Clients: clients(1, 1), Commits: orderPlaced}, map[string]Scenario{
		"every commit": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Faults: append(AllFaults(), CommitFaults()...),
			Strikes: ofCommit, Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: arrive},
		},
		"a commit of a gate": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Commits: placedEither, Rows: open,
			Outside: shutsOpens, Faults: lost, Strikes: ofCommit,
			Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: bounces},
		},
		"crashes of a handler": {
			Clients: clients(2, 1), LeaseSteps: 2, Faults: []Fault{DieBefore, DieAfter, DieLate}, MaxFaults: 2,
			Strikes: ofCommit, Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: arrive},
		},
		"a stream": {Relays: Relays{Processes: 1, Handovers: 5, Receives: anyhow, Hurried: true}},
		"a stream with faults": {
			Relays: Relays{Processes: 1, Handovers: 4, Receives: bounces, Faults: faults, MaxFaults: 3},
		},
		"two relays": {Relays: Relays{Processes: 2, Handovers: 3, Receives: anyhow, Faults: faults}},
		"a drain beside a stream": {
			Relays: Relays{Processes: 2, Handovers: 2, Drains: 1, Receives: bounces, DueSteps: 1, Faults: few},
		},
		"two drains": {Relays: Relays{Processes: 2, Drains: 3, Receives: bounces, DueSteps: 1, Faults: few}},
		"drains that die": {
			Relays: Relays{Processes: 1, Drains: 4, Receives: bounces, DueSteps: 3, Faults: deaths, MaxFaults: 2},
		},
		"poison": {Relays: Relays{Processes: 1, Handovers: 2, Drains: 3, Receives: poison, DueSteps: 2, Faults: few}},
		"redriven": {
			Relays: Relays{
				Processes: 1, Handovers: 2, Drains: 1, DueSteps: 1, Redrives: 1, Receives: anyhow, Faults: faults,
			},
		},
		"a message that is given up beside a drain": {
			Relays: Relays{Processes: 2, Handovers: 1, Drains: 1, Redrives: 1, Receives: anyhow, Faults: few},
		},
		"another commit after the expiry": {
			Clients: clients(2, 1), ExpirySteps: 1,
			Relays: Relays{Processes: 1, Handovers: 2, Receives: anyhow, Faults: late},
		},
		"another commit beside a drain": {
			Clients: clients(2, 1), ExpirySteps: 1,
			Relays: Relays{Processes: 1, Drains: 1, Receives: anyhow, Faults: late},
		},
		"two commits in a batch": {
			Clients: clients(2, 1), ExpirySteps: 1,
			Relays: Relays{Processes: 1, Handovers: 2, Batches: true, Receives: bounces},
		},
		"two messages": {
			Clients: rivals, ExpirySteps: 1,
			Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Batches: true, Receives: bounces},
		},
		"a batch": {
			Commits: twoMessages,
			Relays:  Relays{Processes: 1, Handovers: 2, Drains: 1, Batches: true, Receives: bounces, Faults: few},
		},
	})
}
