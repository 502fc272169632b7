package explore_test

import (
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/proof/explore"
)

// goingOnScenarios are those of handlers that go on, whatever they meet; of processes that are
// suspended meanwhile; of resolvers that fail; and of versions of a function that follow each
// other.
func goingOnScenarios() map[string]explore.Scenario {
	both := []explore.Client{renewing, dated}
	late := []explore.Fault{explore.LoseLate, explore.FailBefore, explore.FailAfter, explore.FailLate}
	fails := []explore.Verdict{explore.CannotTell, explore.BreaksDown, explore.Untouched}
	every := []explore.Verdict{
		explore.StillUnknown, explore.Executed, explore.Untouched, explore.CannotTell,
		explore.BreaksDown,
	}
	uncertain := []explore.Ending{explore.Succeeds, explore.FailsUncertain}
	within := []explore.Effect{explore.CommitsInside, explore.CommitsOutside, explore.CommitsDetached}
	crash := []explore.Fault{explore.DieAfter}
	waits := []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)}
	after := func(of explore.Version, deliveries int) []explore.Client {
		return []explore.Client{{Amount: 5, Deliveries: 1, Of: of}, {Amount: 5, Deliveries: deliveries}}
	}
	return map[string]explore.Scenario{
		"goes on: timed, after a commit that failed": {
			Clients: both, Careless: true, Timed: true, TimeSteps: 4, Commits: oneRow, Faults: late,
			Strikes: only(explore.Commit),
		},
		"goes on: timed, after a commit that nobody can read": {
			Clients: both, Careless: true, Timed: true, TimeSteps: 3, Commits: oneRow, MaxFaults: 2,
			Strikes: ofCommit, Faults: []explore.Fault{explore.FailBefore, explore.FailLate},
		},
		"goes on: steps after a commit": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Commits: gated, Rows: shut, Outside: thenOpens,
			Steps: oneStep, StepsLast: true, Careless: true, Faults: late, Strikes: only(explore.Commit),
		},
		"goes on: timed, steps after a commit": {
			Clients: both, Timed: true, TimeSteps: 2, Commits: gated, Rows: shut, Steps: oneStep, StepsLast: true,
			Careless: true, Faults: late, Strikes: only(explore.Commit),
		},
		"goes on: timed, a commit inside of a step": {
			Clients: both, Timed: true, TimeSteps: 3, Commits: oneRow, Steps: oneStep, Effects: within,
			Careless: true,
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
			Clients: []explore.Client{dated, dated}, Timed: true, EndsEarly: true, TimeSteps: 1, Steps: oneStep,
			Freezes: 1,
		},
		"goes on: timed, suspended after a commit that failed": {
			Clients: both, Careless: true, Timed: true, TimeSteps: 2, Commits: oneRow, Freezes: 1,
			Faults: []explore.Fault{explore.FailBefore, explore.FailLate}, Strikes: only(explore.Commit),
		},
		"goes on: timed, suspended in a resolver": {
			Clients: []explore.Client{{Amount: 5, Deliveries: 2, NoDeadline: true}, dated}, Endings: uncertain[1:],
			Timed: true, TimeSteps: 1, Resolver: true,
			Verdicts: []explore.Verdict{explore.Executed, explore.Untouched}, Freezes: 1,
		},
		"goes on: a resolver that fails": {
			Clients: clients(1, 3), Endings: uncertain, LeaseSteps: 1, Resolver: true, Verdicts: fails,
			Steps: oneStep,
		},
		"goes on: a resolver that a waiting delivery asks": {
			Clients: clients(2, 1), Endings: uncertain, LeaseSteps: 1, Resolver: true, Verdicts: every,
			Options: waits,
		},
		"goes on: a resolver of a step that fails": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Steps: askedSteps, Verdicts: every,
			Faults: crash,
		},
		"deployed: steps at most once": {
			Clients: after(explore.Before, 1), Endings: mayFail, LeaseSteps: 1,
			Steps: []explore.Step{{Name: "b"}, {Name: "a", Once: true}}, Faults: crash,
		},
		"deployed: unrepeatable": {
			Clients: after(explore.Before, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep, Unrepeatable: true,
			Faults: crash,
		},
		"deployed: after Powertools, steps at most once": {
			Clients: after(explore.Powertools, 1), LeaseSteps: 1, Steps: onceSteps,
			Faults:  []explore.Fault{explore.LoseLate, explore.FailAfter},
			Strikes: only(explore.Takeover, explore.Undo),
		},
		"deployed: after Powertools, unrepeatable": {
			Clients: after(explore.Powertools, 1), Endings: mayFail, LeaseSteps: 1, Steps: oneStep,
			Unrepeatable: true, Deeds: explore.AllDeeds(),
		},
	}
}

// goingOnMustBeSeen is what these scenarios have to lead to.
var goingOnMustBeSeen = []string{
	"suspended", "goes on after its lease", "resolver says nothing, it fails", "resolver says nothing, it panics",
}
