package explore

import (
	"time"

	"github.com/go-idempotent/idempotent"
)

// goingOnScenarios are those of handlers that go on, whatever they meet; of processes that are
// suspended meanwhile; of resolvers that fail; and of versions of a function that follow each
// other.
func goingOnScenarios() map[string]Scenario {
	both := []Client{renewing, dated}
	late := []Fault{LoseLate, FailBefore, FailAfter, FailLate}
	fails := []Verdict{CannotTell, BreaksDown, Untouched}
	every := []Verdict{
		StillUnknown, Executed, Untouched, CannotTell,
		BreaksDown,
	}
	uncertain := []Ending{Succeeds, FailsUncertain}
	within := []Effect{CommitsInside, CommitsOutside, CommitsDetached}
	crash := []Fault{DieAfter}
	waits := []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)}
	after := func(of Version, deliveries int) []Client {
		return []Client{{Amount: 5, Deliveries: 1, Of: of}, {Amount: 5, Deliveries: deliveries}}
	}
	return map[string]Scenario{
		"goes on: timed, after a commit that failed": {
			Clients: both, Careless: true, Timed: true, TimeSteps: 4, Commits: oneRow, Faults: late,
			Strikes: only(Commit),
		},
		"goes on: timed, after a commit that nobody can read": {
			Clients: both, Careless: true, Timed: true, TimeSteps: 3, Commits: oneRow, MaxFaults: 2, Strikes: ofCommit,
			Faults: []Fault{FailBefore, FailLate},
		},
		"goes on: steps after a commit": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Commits: gated, Rows: shut, Outside: thenOpens,
			Steps: oneStep, StepsLast: true, Careless: true, Faults: late, Strikes: only(Commit),
		},
		"goes on: timed, steps after a commit": {
			Clients: both, Timed: true, TimeSteps: 2, Commits: gated, Rows: shut, Steps: oneStep, StepsLast: true,
			Careless: true, Faults: late, Strikes: only(Commit),
		},
		"goes on: timed, a commit inside of a step": {
			Clients: both, Timed: true, TimeSteps: 3, Commits: oneRow, Steps: oneStep, Effects: within, Careless: true,
		},
		"goes on: a commit that nobody waits for": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Commits: oneRow, Unawaited: true,
		},
		"goes on: timed, a commit that nobody waits for, beside a step": {
			Clients: both[:1], Timed: true, TimeSteps: 2, Commits: oneRow, Unawaited: true, Steps: oneStep,
			Abandons: true,
		},
		"goes on: timed, suspended in steps": {
			Clients: both, Timed: true, EndsEarly: true, TimeSteps: 1, Steps: oneStep, Freezes: 1,
		},
		"goes on: timed, suspended in a commit": {
			Clients: both, Careless: true, EndsEarly: true, Timed: true, TimeSteps: 1, Commits: oneRow, Freezes: 1,
		},
		"goes on: timed, suspended, a deadline": {
			Clients: []Client{dated, dated}, Timed: true, EndsEarly: true, TimeSteps: 1, Steps: oneStep, Freezes: 1,
		},
		"goes on: timed, suspended after a commit that failed": {
			Clients: both, Careless: true, Timed: true, TimeSteps: 2, Commits: oneRow, Freezes: 1,
			Faults: []Fault{FailBefore, FailLate}, Strikes: only(Commit),
		},
		"goes on: timed, suspended in a resolver": {
			Clients: []Client{{Amount: 5, Deliveries: 2, NoDeadline: true}, dated}, Endings: uncertain[1:], Timed: true,
			TimeSteps: 1, Resolver: true, Verdicts: []Verdict{Executed, Untouched}, Freezes: 1,
		},
		"goes on: a resolver that fails": {
			Clients: clients(1, 3), Endings: uncertain, LeaseSteps: 1, Resolver: true, Verdicts: fails, Steps: oneStep,
		},
		"goes on: a resolver that a waiting delivery asks": {
			Clients: clients(2, 1), Endings: uncertain, LeaseSteps: 1, Resolver: true, Verdicts: every, Options: waits,
		},
		"goes on: a resolver of a step that fails": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: askedSteps, Verdicts: every, Faults: crash,
		},
		"deployed: steps at most once": {
			Clients: after(Before, 1), Endings: mayFail, LeaseSteps: 1,
			Steps: []Step{{Name: "b"}, {Name: "a", Once: true}}, Faults: crash,
		},
		"deployed: unrepeatable": {
			Clients: after(Before, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Unrepeatable: true,
			Faults: crash,
		},
		"deployed: after Powertools, steps at most once": {
			Clients: after(Powertools, 1), LeaseSteps: 1, Steps: onceSteps, Faults: []Fault{LoseLate, FailAfter},
			Strikes: only(Takeover, Undo),
		},
		"deployed: after Powertools, unrepeatable": {
			Clients: after(Powertools, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Unrepeatable: true,
			Deeds: AllDeeds(),
		},
	}
}
