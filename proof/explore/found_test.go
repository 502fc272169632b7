package explore_test

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/proof/explore"
)

// renewing is a client without a deadline, dated one with.
var (
	renewing = explore.Client{Amount: 5, Deliveries: 1, NoDeadline: true}
	dated    = explore.Client{Amount: 5, Deliveries: 1}
)

// only lets faults happen to some calls.
func only(calls ...explore.Call) func(explore.Fault, explore.Call) bool {
	return func(_ explore.Fault, c explore.Call) bool { return slices.Contains(calls, c) }
}

// deathThenSlow lets a process die with its claim, and calls of one kind be slow.
func deathThenSlow(call explore.Call) func(explore.Fault, explore.Call) bool {
	return func(f explore.Fault, c explore.Call) bool {
		if f == explore.DieAfter {
			return c == explore.Claim
		}
		return c == call
	}
}

// timedScenarios are those in which time passes inside calls and beside handlers.
func timedScenarios() map[string]explore.Scenario {
	slow := explore.SlowFaults()
	slowAndDeath := []explore.Fault{explore.DieAfter, explore.SlowRequest, explore.SlowReply}
	// One look, at the end of the wait.
	waits := []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)}
	obeys := []explore.Ending{explore.Succeeds, explore.ObeysContext}
	return map[string]explore.Scenario{
		"timed: a fault of a renewal": {
			Clients: []explore.Client{renewing, dated}, Endings: obeys, Timed: true, TimeSteps: 4,
			Faults: []explore.Fault{
				explore.LoseRequest, explore.LoseReply, explore.LoseLate, explore.FailBefore, explore.FailAfter,
				explore.FailLate, explore.Repeat, explore.SlowRequest, explore.SlowReply,
			},
			Strikes: only(explore.Renewal),
		},
		"timed: two faults of renewals": {
			Clients: []explore.Client{renewing, renewing}, Timed: true, TimeSteps: 4, MaxFaults: 2,
			Faults:  []explore.Fault{explore.LoseLate, explore.FailBefore, explore.SlowRequest},
			Strikes: only(explore.Renewal),
		},
		"timed: renewals, the end and a retry": {
			Clients: []explore.Client{{Amount: 5, Deliveries: 2, NoDeadline: true}}, Endings: mayFail, Timed: true,
			TimeSteps: 4, Faults: []explore.Fault{explore.LoseLate, explore.Repeat, explore.SlowRequest},
			Strikes: only(explore.Renewal),
		},
		"timed: a slow call": {
			Clients: []explore.Client{dated, dated}, Endings: mayFail, Timed: true, TimeSteps: 4, Faults: slow,
		},
		"timed: a slow call without a deadline": {
			Clients: []explore.Client{renewing, renewing}, Endings: mayFail, Timed: true, TimeSteps: 4, Faults: slow,
		},
		"timed: a slow takeover": {
			Clients: []explore.Client{dated, dated}, Timed: true, TimeSteps: 4, Faults: slowAndDeath, MaxFaults: 2,
			Strikes: deathThenSlow(explore.Takeover),
		},
		"timed: a slow takeover without a deadline": {
			Clients: []explore.Client{renewing, renewing}, Timed: true, TimeSteps: 4, Faults: slowAndDeath,
			MaxFaults: 2, Strikes: deathThenSlow(explore.Takeover),
		},
		"timed: a claim that lands late": {
			Clients: []explore.Client{renewing, dated}, Timed: true, TimeSteps: 3, MaxFaults: 2,
			Faults: []explore.Fault{explore.LoseLate, explore.SlowRequest}, Strikes: only(explore.Claim),
		},
		"timed: a slow look": {
			Clients: []explore.Client{dated, renewing}, Endings: mayFail, Timed: true, TimeSteps: 3, Options: waits,
			Faults: slow, Strikes: only(explore.Look),
		},
		"timed: a slow look at a crash": {
			Clients: []explore.Client{dated, renewing}, Timed: true, TimeSteps: 3, Options: waits,
			Faults: slowAndDeath, MaxFaults: 2, Strikes: deathThenSlow(explore.Look),
		},
		"timed: a slow look with a deadline": {
			Clients: []explore.Client{dated, dated}, Endings: mayFail, Timed: true, TimeSteps: 3, Options: waits,
			Faults: slowAndDeath, MaxFaults: 2, Strikes: deathThenSlow(explore.Look),
		},
		"timed: handlers that overrun their deadline": {
			Clients: []explore.Client{dated, dated}, Endings: obeys, Timed: true, TimeSteps: 5,
		},
		"timed: a handler that never comes to its end": {
			Clients: []explore.Client{dated}, Timed: true, TimeSteps: 400,
		},
	}
}

// foundScenarios are small ones, each about something that others leave out.
func foundScenarios() map[string]explore.Scenario {
	crash := []explore.Fault{explore.DieAfter}
	return map[string]explore.Scenario{
		"nothing executed, and meanwhile UNKNOWN": {
			Clients: clients(2, 2), Endings: []explore.Ending{explore.Succeeds, explore.FailsNotExecuted},
			LeaseSteps: 1, Unrepeatable: true,
		},
		"crashed and expired": {Clients: rivals, LeaseSteps: 1, ExpirySteps: 1, Faults: crash},
		"unknown and expired": {
			Clients: rivals, Endings: []explore.Ending{explore.Succeeds, explore.FailsUncertain}, LeaseSteps: 1,
			ExpirySteps: 1, Faults: crash, Unrepeatable: true,
		},
		"expired before it is resolved": {
			Clients: clients(2, 1), Endings: []explore.Ending{explore.Succeeds, explore.FailsUncertain},
			LeaseSteps: 1, ExpirySteps: 1, Resolver: true,
		},
		"a running transaction": {
			Clients: clients(3, 1), Endings: mayFail, LeaseSteps: 1, Faults: []explore.Fault{explore.Conflict},
			MaxFaults: 2,
		},
		"an undone takeover": {
			Clients: clients(2, 2), LeaseSteps: 1, MaxFaults: 2,
			Faults:  []explore.Fault{explore.LoseLate, explore.FailAfter, explore.FailLate, explore.Repeat},
			Strikes: only(explore.Takeover, explore.Undo),
		},
		"an undone takeover for a resolver": {
			Clients: clients(1, 3), Endings: []explore.Ending{explore.FailsUncertain}, LeaseSteps: 1, Resolver: true,
			MaxFaults: 2, Faults: []explore.Fault{explore.LoseLate, explore.FailAfter},
			Strikes: only(explore.Takeover, explore.Undo),
		},
		"a late claim in the place of a takeover": {
			Clients: clients(2, 1), Endings: []explore.Ending{explore.Fails}, LeaseSteps: 2, MaxFaults: 2,
			Faults: []explore.Fault{explore.LoseReply, explore.LoseLate}, Strikes: only(explore.Claim),
		},
	}
}
