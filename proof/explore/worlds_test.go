package explore

import (
	"maps"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
)

var (
	// renewing is a client without a deadline, dated one with.
	renewing  = Client{Amount: 5, Deliveries: 1, NoDeadline: true}
	dated     = Client{Amount: 5, Deliveries: 1}
	bothKinds = []Client{renewing, dated}

	crash     = []Fault{DieAfter}
	crashes   = []Fault{DieAfter, DieBefore, DieLate}
	uncertain = []Ending{Succeeds, FailsUncertain}
	// waits are those of a delivery that looks once, at the end of its wait: it is shorter than the
	// first interval between two looks.
	waits = []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)}
)

// only lets faults happen to some calls.
func only(calls ...Call) func(Fault, Call) bool {
	return func(_ Fault, c Call) bool { return slices.Contains(calls, c) }
}

// deathThenSlow lets a process die with its claim, and calls of one kind be slow.
func deathThenSlow(call Call) func(Fault, Call) bool {
	return func(f Fault, c Call) bool {
		if f == DieAfter {
			return c == Claim
		}
		return c == call
	}
}

// timedScenarios are those in which time passes inside calls and beside handlers.
func timedScenarios() map[string]Scenario {
	slow := SlowFaults()
	slowAndDeath := []Fault{DieAfter, SlowRequest, SlowReply}
	obeys := []Ending{Succeeds, ObeysContext}
	usual := Scenario{Clients: bothKinds, Timed: true, TimeSteps: 4}
	return family("timed: ", usual, map[string]Scenario{
		"a fault of a renewal": {
			Endings: obeys, Strikes: only(Renewal), Faults: []Fault{
				LoseRequest, LoseReply, LoseLate, FailBefore, FailAfter, FailLate, Repeat, SlowRequest, SlowReply,
			},
		},
		"two faults of renewals": {
			Clients: []Client{renewing, renewing}, MaxFaults: 2, Faults: []Fault{LoseLate, FailBefore, SlowRequest},
			Strikes: only(Renewal),
		},
		"renewals, the end and a retry": {
			Clients: []Client{{Amount: 5, Deliveries: 2, NoDeadline: true}}, Endings: mayFail,
			Faults: []Fault{LoseLate, Repeat, SlowRequest}, Strikes: only(Renewal),
		},
		"a slow call":                    {Clients: []Client{dated, dated}, Endings: mayFail, Faults: slow},
		"a slow call without a deadline": {Clients: []Client{renewing, renewing}, Endings: mayFail, Faults: slow},
		"a slow takeover": {
			Clients: []Client{dated, dated}, Faults: slowAndDeath, MaxFaults: 2, Strikes: deathThenSlow(Takeover),
		},
		"a slow takeover without a deadline": {
			Clients: []Client{renewing, renewing}, Faults: slowAndDeath, MaxFaults: 2, Strikes: deathThenSlow(Takeover),
		},
		"a claim that lands late": {
			TimeSteps: 3, MaxFaults: 2, Faults: []Fault{LoseLate, SlowRequest}, Strikes: only(Claim),
		},
		"a slow look": {
			Clients: []Client{dated, renewing}, Endings: mayFail, TimeSteps: 3, Options: waits, Faults: slow,
			Strikes: only(Look),
		},
		"a slow look at a crash": {
			Clients: []Client{dated, renewing}, TimeSteps: 3, Options: waits, Faults: slowAndDeath, MaxFaults: 2,
			Strikes: deathThenSlow(Look),
		},
		"a slow look with a deadline": {
			Clients: []Client{dated, dated}, Endings: mayFail, TimeSteps: 3, Options: waits, Faults: slowAndDeath,
			MaxFaults: 2, Strikes: deathThenSlow(Look),
		},
		"handlers that overrun their deadline":  {Clients: []Client{dated, dated}, Endings: obeys, TimeSteps: 5},
		"a handler that never comes to its end": {Clients: []Client{dated}, TimeSteps: 400},
	})
}

// foundScenarios are small ones, each about something that others leave out.
func foundScenarios() map[string]Scenario {
	return family("", Scenario{Clients: clients(2, 2), LeaseSteps: 1}, map[string]Scenario{
		"nothing executed, and meanwhile UNKNOWN": {Endings: []Ending{Succeeds, FailsNotExecuted}, Unrepeatable: true},
		"crashed and expired":                     {Clients: rivals, ExpirySteps: 1, Faults: crash},
		"unknown and expired": {
			Clients: rivals, Endings: uncertain, ExpirySteps: 1, Faults: crash, Unrepeatable: true,
		},
		"expired before it is resolved": {Clients: clients(2, 1), Endings: uncertain, ExpirySteps: 1, Resolver: true},
		"a running transaction": {
			Clients: clients(3, 1), Endings: mayFail, Faults: []Fault{Conflict}, MaxFaults: 2,
		},
		"an undone takeover": {
			MaxFaults: 2, Faults: []Fault{LoseLate, FailAfter, FailLate, Repeat}, Strikes: only(Takeover, Undo),
		},
		"an undone takeover for a resolver": {
			Clients: clients(1, 3), Endings: []Ending{FailsUncertain}, Resolver: true, MaxFaults: 2,
			Faults: []Fault{LoseLate, FailAfter}, Strikes: only(Takeover, Undo),
		},
		"a late claim in the place of a takeover": {
			Clients: clients(2, 1), Endings: []Ending{Fails}, LeaseSteps: 2, MaxFaults: 2,
			Faults: []Fault{LoseReply, LoseLate}, Strikes: only(Claim),
		},
	})
}

// goingOnScenarios are those of handlers that go on, whatever they meet; of processes that are
// suspended meanwhile; and of resolvers that fail.
func goingOnScenarios() map[string]Scenario {
	late := []Fault{LoseLate, FailBefore, FailAfter, FailLate}
	fails := []Verdict{CannotTell, BreaksDown, Untouched}
	every := []Verdict{StillUnknown, Executed, Untouched, CannotTell, BreaksDown}
	within := []Effect{CommitsInside, CommitsOutside, CommitsDetached}
	all := family("goes on: ", Scenario{Clients: bothKinds, Timed: true}, map[string]Scenario{
		"timed, after a commit that failed": {
			Careless: true, TimeSteps: 4, Commits: oneRow, Faults: late, Strikes: only(Commit),
		},
		"timed, after a commit that nobody can read": {
			Careless: true, TimeSteps: 3, Commits: oneRow, MaxFaults: 2, Strikes: ofCommit,
			Faults: []Fault{FailBefore, FailLate},
		},
		"timed, steps after a commit": {
			TimeSteps: 2, Commits: gated, Rows: shut, Steps: oneStep, StepsLast: true, Careless: true, Faults: late,
			Strikes: only(Commit),
		},
		"timed, a commit inside of a step": {
			TimeSteps: 3, Commits: oneRow, Steps: oneStep, Effects: within, Careless: true,
		},
		"timed, a commit that nobody waits for, beside a step": {
			Clients: bothKinds[:1], TimeSteps: 2, Commits: oneRow, Unawaited: true, Steps: oneStep, Abandons: true,
		},
		"timed, suspended in steps":    {EndsEarly: true, TimeSteps: 1, Steps: oneStep, Freezes: 1},
		"timed, suspended in a commit": {Careless: true, EndsEarly: true, TimeSteps: 1, Commits: oneRow, Freezes: 1},
		"timed, suspended, a deadline": {
			Clients: []Client{dated, dated}, EndsEarly: true, TimeSteps: 1, Steps: oneStep, Freezes: 1,
		},
		"timed, suspended after a commit that failed": {
			Careless: true, TimeSteps: 2, Commits: oneRow, Freezes: 1, Faults: []Fault{FailBefore, FailLate},
			Strikes: only(Commit),
		},
		"timed, suspended in a resolver": {
			Clients: []Client{{Amount: 5, Deliveries: 2, NoDeadline: true}, dated}, Endings: uncertain[1:],
			TimeSteps: 1, Resolver: true, Verdicts: []Verdict{Executed, Untouched}, Freezes: 1,
		},
	})
	maps.Copy(all, family("goes on: ", Scenario{Clients: clients(1, 3), LeaseSteps: 1}, map[string]Scenario{
		"steps after a commit": {
			Clients: clients(1, 2), Endings: mayFail, Commits: gated, Rows: shut, Outside: thenOpens, Steps: oneStep,
			StepsLast: true, Careless: true, Faults: late, Strikes: only(Commit),
		},
		"a commit that nobody waits for": {Clients: clients(2, 1), Endings: mayFail, Commits: oneRow, Unawaited: true},
		"a resolver that fails":          {Endings: uncertain, Resolver: true, Verdicts: fails, Steps: oneStep},
		"a resolver that a waiting delivery asks": {
			Clients: clients(2, 1), Endings: uncertain, Resolver: true, Verdicts: every, Options: waits,
		},
		"a resolver of a step that fails": {Endings: mayFail, Steps: askedSteps, Verdicts: every, Faults: crash},
	}))
	return all
}

// deployedScenarios are those of versions of a function that follow each other.
func deployedScenarios() map[string]Scenario {
	after := func(of Version, deliveries int) []Client {
		return []Client{{Amount: 5, Deliveries: 1, Of: of}, {Amount: 5, Deliveries: deliveries}}
	}
	return family("deployed: ", Scenario{Clients: after(Before, 1), LeaseSteps: 1, Steps: oneStep}, map[string]Scenario{
		"steps at most once": {Endings: mayFail, Steps: []Step{{Name: "b"}, {Name: "a", Once: true}}, Faults: crash},
		"unrepeatable":       {Endings: mayFail, Unrepeatable: true, Faults: crash},
		"after Powertools, steps at most once": {
			Clients: after(Powertools, 1), Steps: onceSteps, Faults: []Fault{LoseLate, FailAfter},
			Strikes: only(Takeover, Undo),
		},
		"after Powertools, unrepeatable": {
			Clients: after(Powertools, 1), Endings: mayFail, Unrepeatable: true, Deeds: AllDeeds(),
		},
	})
}

// operatorScenarios are those in which a person settles, releases or deletes what it was shown a
// while ago.
func operatorScenarios() map[string]Scenario {
	deeds := AllDeeds()
	some := []Deed{SettlesExecuted, SettlesNotExecuted, Deletes}
	lost := []Fault{LoseRequest, LoseReply, LoseLate, FailBefore, FailAfter, FailLate, Repeat}
	return family("operator: ", Scenario{Clients: clients(2, 1), Deeds: deeds}, map[string]Scenario{
		"two deliveries that overrun their lease": {Endings: mayFail, LeaseSteps: 2},
		"every ending":              {Clients: clients(1, 2), Endings: anyEnd, LeaseSteps: 1},
		"unrepeatable":              {Endings: uncertain, LeaseSteps: 1, Unrepeatable: true},
		"a crash":                   {LeaseSteps: 1, Faults: []Fault{DieAfter, DieLate}, Unrepeatable: true},
		"its message meets a fault": {Endings: uncertain, LeaseSteps: 1, Faults: lost, Strikes: only(OfOperator)},
		"a message of an owner is late": {
			LeaseSteps: 1, Deeds: some, Faults: []Fault{LoseLate, Repeat},
			Strikes: only(Claim, Takeover, Completion, Undo),
		},
		"two requests, and the expiry": {
			Clients: rivals, Endings: uncertain, LeaseSteps: 1, ExpirySteps: 1, Deeds: some,
		},
		"a resolver": {Endings: uncertain, LeaseSteps: 1, Resolver: true},
		"timed, renewals that fail": {
			Clients: bothKinds, Timed: true, TimeSteps: 3, Faults: []Fault{LoseLate, SlowRequest},
			Strikes: only(Renewal),
		},
	})
}

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
	leaves := []Ending{FailsUncertain}
	faults := AllFaults()
	lost := []Fault{LoseRequest, LoseReply, LoseLate, Repeat}
	vain := []Verdict{StillUnknown, CannotTell}
	both := []Verdict{Executed, Untouched}
	ofAsking := only(Takeover, Undo, Conclusion)
	usual := Scenario{Clients: with(1, 2, once), Endings: leaves, LeaseSteps: 1}
	all := family("reconcile: ", usual, map[string]Scenario{
		"execute again": {Clients: with(2, 1, once), Endings: uncertain, LeaseSteps: 2},
		"refuse": {
			Clients: with(2, 1, once), Endings: uncertain, LeaseSteps: 2, Unrepeatable: true,
		},
		"every ending, unrepeatable":  {Endings: anyEnd, Unrepeatable: true},
		"with a resolver":             {Clients: with(2, 1, once), Endings: uncertain, Resolver: true},
		"a resolver of a client dies": {Resolver: true, Faults: crashes},
		"released with steps, and a question dies": {
			Clients: with(1, 1, asking(2, Asks{})), Endings: []Ending{Fails}, Steps: oneStep, Faults: crashes,
			Verdicts: []Verdict{StillUnknown, Untouched},
		},
		"two steps, one of which tells nothing": {
			Clients: with(1, 1, once), Endings: mayFail, Steps: []Step{{Name: "a"}, {Name: "b", Once: true}},
			Effects: []Effect{Happens, MayHappen}, Verdicts: both, Faults: crashes,
		},
		"a fault": {Unrepeatable: true, Faults: faults},
		"a death, then anybody": {
			Clients: with(1, 2, asking(2, Asks{})), Faults: crashes, Verdicts: []Verdict{StillUnknown, Untouched},
		},
		"two at once": {Clients: with(1, 1, once, once), Verdicts: []Verdict{StillUnknown, Executed, BreaksDown}},
		"two at once, a message is late": {
			Clients: with(1, 1, once, once), Verdicts: []Verdict{StillUnknown, Untouched},
			Faults: []Fault{LoseLate, Repeat}, Strikes: ofAsking,
		},
		"given up": {Clients: with(1, 1, asking(3, Asks{Due: true, Tries: 2})), DueSteps: 2, Verdicts: vain},
		"given up by somebody who may fail": {
			Clients: with(1, 1, asking(3, Asks{Due: true, Tries: 1, GivesUp: true})), DueSteps: 2, Verdicts: vain,
			Faults: crashes,
		},
		"all of what is given up": {
			Clients: with(1, 1, asking(3, Asks{Tries: 1, GivesUp: true})), Faults: lost, Strikes: ofAsking,
		},
		"released with steps": {Endings: mayFail, Steps: oneStep, Faults: crashes},
		"released with steps, refuse": {
			Endings: []Ending{Succeeds, FailsNotExecuted}, Steps: oneStep, Unrepeatable: true, Faults: crashes,
		},
		"start marks": {
			Endings: mayFail, Steps: []Step{{Name: "a", Once: true}}, Faults: crashes,
			Effects: []Effect{Happens, MayHappen}, Verdicts: both,
		},
		"an operator": {
			Clients: with(1, 1, once), Endings: uncertain, LeaseSteps: 2, Deeds: AllDeeds(), Unrepeatable: true,
		},
		"an operator and a late message": {
			Clients: with(1, 1, once), Deeds: AllDeeds(), Verdicts: both, Faults: lost, Strikes: ofAsking,
		},
		"the expiry": {ExpirySteps: 1, Unrepeatable: true},
	})
	maps.Copy(all, family("reconcile: ", Scenario{}, map[string]Scenario{
		"timed, a resolver that hangs": {
			Clients: []Client{dated, dated, once}, Endings: leaves, Timed: true, TimeSteps: 4,
		},
		"timed, slow calls": {
			Clients: []Client{dated, once}, Endings: leaves, Timed: true, TimeSteps: 4, Faults: SlowFaults(),
			Strikes: ofAsking,
		},
		"timed, renewals that fail": {
			Clients: []Client{dated, once}, Endings: leaves, Timed: true, TimeSteps: 4, Verdicts: both,
			Faults: []Fault{LoseLate, FailBefore, SlowRequest}, Strikes: only(Renewal),
		},
	}))
	return all
}

// attentionScenarios are those in which a process may die in its first execution, and only who
// reads the index learns of it.
func attentionScenarios() map[string]Scenario {
	late := []Fault{LoseLate, FailLate, DieLate, Repeat}
	byIndex := asking(1, Asks{Due: true, Index: true})
	twice := asking(2, Asks{Due: true, Index: true, Tries: 2})
	told := []Verdict{Executed, Untouched}
	one := []Client{{Amount: 5, Deliveries: 1}}
	usual := Scenario{Clients: append(one, byIndex), LeaseSteps: 1, Unrepeatable: true, Faults: crashes}
	all := family("attention: ", usual, map[string]Scenario{
		"killed in the first execution, refuse": {},
		"asked twice":                           {Clients: append(one, twice), DueSteps: 1},
		"killed, and a retry": {
			Clients: append(clients(2, 1), byIndex), Endings: mayFail, Verdicts: told,
		},
		"a completion is late": {Endings: mayFail, Faults: late, Verdicts: told},
		"steps": {
			Endings: mayFail, Steps: oneStep, Verdicts: told, Effects: []Effect{Happens, MayHappen},
		},
		"an operator": {Deeds: AllDeeds(), Verdicts: told},
		"the expiry":  {Clients: append(clients(1, 2), byIndex), Endings: mayFail, ExpirySteps: 1, Verdicts: told},
	})
	maps.Copy(all, family("attention: ", Scenario{}, map[string]Scenario{
		"killed in the first execution, a resolver": {
			Clients: append(one, byIndex), LeaseSteps: 1, Resolver: true, Faults: crashes,
		},
		"an owner comes back": {
			Clients: append(clients(2, 1), byIndex), Endings: anyEnd, LeaseSteps: 2, Unrepeatable: true, Verdicts: told,
		},
		"timed, beside renewals": {
			Clients: []Client{renewing, byIndex}, Timed: true, TimeSteps: 6, Unrepeatable: true, Verdicts: told,
			Faults: []Fault{LoseLate, SlowRequest, DieLate}, Strikes: only(Renewal),
		},
	}))
	return all
}
