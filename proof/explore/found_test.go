package explore

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
)

// renewing is a client without a deadline, dated one with.
var (
	renewing = Client{Amount: 5, Deliveries: 1, NoDeadline: true}
	dated    = Client{Amount: 5, Deliveries: 1}
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
	// One look, at the end of the wait.
	waits := []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)}
	obeys := []Ending{Succeeds, ObeysContext}
	return map[string]Scenario{
		"timed: a fault of a renewal": {
			Clients: []Client{renewing, dated}, Endings: obeys, Timed: true, TimeSteps: 4, Faults: []Fault{
				LoseRequest, LoseReply, LoseLate, FailBefore, FailAfter, FailLate, Repeat, SlowRequest, SlowReply,
			},
			Strikes: only(Renewal),
		},
		"timed: two faults of renewals": {
			Clients: []Client{renewing, renewing}, Timed: true, TimeSteps: 4, MaxFaults: 2,
			Faults: []Fault{LoseLate, FailBefore, SlowRequest}, Strikes: only(Renewal),
		},
		"timed: renewals, the end and a retry": {
			Clients: []Client{{Amount: 5, Deliveries: 2, NoDeadline: true}}, Endings: mayFail, Timed: true,
			TimeSteps: 4, Faults: []Fault{LoseLate, Repeat, SlowRequest}, Strikes: only(Renewal),
		},
		"timed: a slow call": {
			Clients: []Client{dated, dated}, Endings: mayFail, Timed: true, TimeSteps: 4, Faults: slow,
		},
		"timed: a slow call without a deadline": {
			Clients: []Client{renewing, renewing}, Endings: mayFail, Timed: true, TimeSteps: 4, Faults: slow,
		},
		"timed: a slow takeover": {
			Clients: []Client{dated, dated}, Timed: true, TimeSteps: 4, Faults: slowAndDeath, MaxFaults: 2,
			Strikes: deathThenSlow(Takeover),
		},
		"timed: a slow takeover without a deadline": {
			Clients: []Client{renewing, renewing}, Timed: true, TimeSteps: 4, Faults: slowAndDeath, MaxFaults: 2,
			Strikes: deathThenSlow(Takeover),
		},
		"timed: a claim that lands late": {
			Clients: []Client{renewing, dated}, Timed: true, TimeSteps: 3, MaxFaults: 2,
			Faults: []Fault{LoseLate, SlowRequest}, Strikes: only(Claim),
		},
		"timed: a slow look": {
			Clients: []Client{dated, renewing}, Endings: mayFail, Timed: true, TimeSteps: 3, Options: waits,
			Faults: slow, Strikes: only(Look),
		},
		"timed: a slow look at a crash": {
			Clients: []Client{dated, renewing}, Timed: true, TimeSteps: 3, Options: waits, Faults: slowAndDeath,
			MaxFaults: 2, Strikes: deathThenSlow(Look),
		},
		"timed: a slow look with a deadline": {
			Clients: []Client{dated, dated}, Endings: mayFail, Timed: true, TimeSteps: 3, Options: waits,
			Faults: slowAndDeath, MaxFaults: 2, Strikes: deathThenSlow(Look),
		},
		"timed: handlers that overrun their deadline": {
			Clients: []Client{dated, dated}, Endings: obeys, Timed: true, TimeSteps: 5,
		},
		"timed: a handler that never comes to its end": {Clients: []Client{dated}, Timed: true, TimeSteps: 400},
	}
}

// foundScenarios are small ones, each about something that others leave out.
func foundScenarios() map[string]Scenario {
	crash := []Fault{DieAfter}
	return map[string]Scenario{
		"nothing executed, and meanwhile UNKNOWN": {
			Clients: clients(2, 2), Endings: []Ending{Succeeds, FailsNotExecuted}, LeaseSteps: 1, Unrepeatable: true,
		},
		"crashed and expired": {Clients: rivals, LeaseSteps: 1, ExpirySteps: 1, Faults: crash},
		"unknown and expired": {
			Clients: rivals, Endings: []Ending{Succeeds, FailsUncertain}, LeaseSteps: 1, ExpirySteps: 1, Faults: crash,
			Unrepeatable: true,
		},
		"expired before it is resolved": {
			Clients: clients(2, 1), Endings: []Ending{Succeeds, FailsUncertain}, LeaseSteps: 1, ExpirySteps: 1,
			Resolver: true,
		},
		"a running transaction": {
			Clients: clients(3, 1), Endings: mayFail, LeaseSteps: 1, Faults: []Fault{Conflict}, MaxFaults: 2,
		},
		"an undone takeover": {
			Clients: clients(2, 2), LeaseSteps: 1, MaxFaults: 2, Faults: []Fault{LoseLate, FailAfter, FailLate, Repeat},
			Strikes: only(Takeover, Undo),
		},
		"an undone takeover for a resolver": {
			Clients: clients(1, 3), Endings: []Ending{FailsUncertain}, LeaseSteps: 1, Resolver: true, MaxFaults: 2,
			Faults: []Fault{LoseLate, FailAfter}, Strikes: only(Takeover, Undo),
		},
		"a late claim in the place of a takeover": {
			Clients: clients(2, 1), Endings: []Ending{Fails}, LeaseSteps: 2, MaxFaults: 2,
			Faults: []Fault{LoseReply, LoseLate}, Strikes: only(Claim),
		},
	}
}
