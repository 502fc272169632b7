package explore

import (
	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/dev/rows"
)

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
	unclear := []Fault{
		LoseReply, LoseLate, FailBefore, FailLate,
		FailAfter, Garbles,
	}
	whatever := append([]Ending{Differs}, anyEnd...)
	answers := []Ending{Succeeds, Fails}
	repeatable := []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}
	marked := []Effect{Happens, MayHappen, HappensUnwritten}
	deeds := AllDeeds()
	slow := SlowFaults()
	return map[string]Scenario{
		"commit: two deliveries, each sent twice": {
			Clients: clients(2, 2), Endings: whatever, LeaseSteps: 1, Commits: oneRow,
		},
		"commit: three deliveries, stale owners": {
			Clients: clients(3, 1), Endings: answers, LeaseSteps: 2, Commits: oneRow,
		},
		"commit: one fault": {Clients: clients(2, 1), Endings: whatever, LeaseSteps: 1, Commits: oneRow, Faults: every},
		"commit: one fault, tokens are remembered": {
			Clients: clients(2, 1), Endings: answers, LeaseSteps: 1, Commits: oneRow, Faults: every, Remembers: true,
		},
		"commit: two faults": {
			Clients: clients(2, 1), LeaseSteps: 1, Commits: oneRow, Faults: every, MaxFaults: 2, Strikes: ofCommit,
		},
		"commit: a fault, and one of the settlement": {
			Clients: clients(2, 1), Endings: answers, Careless: true, LeaseSteps: 1, Commits: oneRow, Faults: unclear,
			MaxFaults: 2, Strikes: settling,
		},
		"commit: a fault and a careless handler": {
			Clients: clients(1, 3), Endings: whatever, Careless: true, LeaseSteps: 1, Commits: oneRow, Faults: every,
			MaxFaults: 2,
		},
		"commit: a late claim and a late commit": {
			Clients: clients(1, 1), Endings: []Ending{Fails}, LeaseSteps: 1, Commits: gated, Rows: open,
			Outside: shutsOpens, Faults: []Fault{LoseLate, FailLate, Repeat}, MaxFaults: 2,
			Strikes: only(Claim, Commit),
		},
		"commit: an owner that learns late that it is stale": {
			Clients: clients(2, 1), Endings: answers, EndsEarly: true, LeaseSteps: 2, Commits: oneRow, Faults: lost,
			Strikes: ofCommit,
		},
		"commit: again after one that nobody knows of": {
			Clients: clients(1, 2), Endings: whatever, Restless: true, Careless: true, LeaseSteps: 1,
			Commits: []rows.Writes{whileOpen, elseOther, elseOther}, Rows: open, Outside: shutsOpens[:1],
			Faults: unclear, MaxFaults: 2, Strikes: ofCommit,
		},
		"commit: passing faults": {
			Clients: clients(2, 1), Endings: answers, LeaseSteps: 1, Commits: oneRow, Faults: passing, MaxFaults: 3,
			Strikes: ofCommit,
		},
		"commit: a gate that opens": {
			Clients: clients(1, 2), Endings: whatever, LeaseSteps: 1, Commits: gated, Rows: shut, Outside: thenOpens,
			Faults: every, Strikes: ofCommit,
		},
		"commit: other writes where the gate is shut": {
			Clients: clients(2, 1), Endings: answers, LeaseSteps: 1, Commits: either, Rows: shut, Outside: thenOpens,
			Faults: lost, Strikes: ofCommit,
		},
		"commit: a gate that shuts and opens": {
			Clients: clients(1, 2), Endings: answers, LeaseSteps: 1, Commits: either, Rows: open, Outside: shutsOpens,
			Faults: every, MaxFaults: 2, Strikes: ofCommit,
		},
		"commit: a gate that shuts and opens, tokens are remembered": {
			Clients: clients(1, 2), Endings: answers, LeaseSteps: 1, Commits: either, Rows: open, Outside: shutsOpens,
			Faults: lost, MaxFaults: 2, Strikes: ofCommit, Remembers: true,
		},
		"commit: a gate for two": {
			Clients: clients(2, 1), Endings: answers, LeaseSteps: 1, Commits: gated, Rows: open, Outside: shutsOpens,
			Faults: late, Strikes: ofCommit,
		},
		"commit: again and again": {
			Clients: clients(1, 2), Endings: whatever, Restless: true, Careless: true, LeaseSteps: 1, Commits: either,
			Rows: open, Outside: shutsOpens, Faults: every,
		},
		"commit: unrepeatable": {
			Clients: clients(1, 2), Endings: whatever, Careless: true, LeaseSteps: 1, Commits: oneRow, Faults: unclear,
			MaxFaults: 2, Unrepeatable: true, Strikes: settling,
		},
		"commit: unrepeatable, a gate": {
			Clients: clients(1, 2), Endings: answers, LeaseSteps: 1, Commits: gated, Rows: open, Outside: shutsOpens,
			Faults: lost, Unrepeatable: true, Strikes: ofCommit,
		},
		"commit: repeatable": {
			Clients: clients(1, 2), Endings: whatever, Careless: true, LeaseSteps: 1, Commits: oneRow, Faults: unclear,
			MaxFaults: 2, Options: repeatable, Strikes: settling,
		},
		"commit: refuse": {
			Clients: clients(2, 1), Endings: whatever, LeaseSteps: 2, Commits: oneRow, Faults: every,
			Unrepeatable: true,
		},
		"commit: a resolver": {
			Clients: clients(2, 1), Endings: []Ending{Succeeds, FailsUncertain}, LeaseSteps: 1, Commits: oneRow,
			Faults: append(late, DieLate, DieAfter), Resolver: true,
		},
		"commit: an operator": {
			Clients: clients(2, 1), Endings: answers, Careless: true, LeaseSteps: 2, Commits: oneRow, Deeds: deeds,
		},
		"commit: an operator and a late commit": {
			Clients: clients(1, 2), Endings: answers, LeaseSteps: 1, Commits: oneRow, Deeds: deeds,
			Faults: append(late, DieLate), Strikes: ofCommit,
		},
		"commit: an operator, unrepeatable": {
			Clients: clients(1, 2), Endings: answers, Careless: true, LeaseSteps: 1, Commits: oneRow, Deeds: deeds,
			Faults: unclear, MaxFaults: 2, Unrepeatable: true, Strikes: settling,
		},
		"commit: the expiry": {
			Clients: clients(2, 1), Endings: answers, LeaseSteps: 1, ExpirySteps: 1, Commits: oneRow, Faults: late,
			Strikes: ofCommit,
		},
		"commit: the expiry, tokens are remembered": {
			Clients: clients(2, 1), ExpirySteps: 1, Commits: oneRow, Faults: late, Remembers: true,
		},
		"commit: two requests": {
			Clients: rivals, Endings: answers, LeaseSteps: 2, Commits: oneRow, Faults: lost, Strikes: ofCommit,
		},
		"commit: clocks that differ": {Clients: skewed, Endings: answers, LeaseSteps: 2, Commits: oneRow, Faults: lost},
		"commit: two caches": {
			Clients: apart, Endings: answers, LeaseSteps: 1, Commits: oneRow, Before: cached, Faults: lost,
			Strikes: ofCommit,
		},
		"commit: a running transaction": {
			Clients: clients(3, 1), LeaseSteps: 1, Commits: oneRow, Faults: []Fault{Conflict, Contends}, MaxFaults: 2,
		},
		"commit: after steps": {
			Clients: clients(2, 1), Endings: answers, LeaseSteps: 1, Steps: oneStep, Effects: mayStumble,
			Commits: oneRow, Faults: every,
		},
		"commit: after steps, at most once, a gate": {
			Clients: clients(1, 2), Endings: answers, LeaseSteps: 1, Steps: onceSteps, Commits: gated, Rows: open,
			Outside: shutsOpens, Faults: lost, Strikes: ofCommit,
		},
		"commit: after lost steps": {
			Clients: clients(1, 3), Endings: answers, Careless: true, LeaseSteps: 1, Steps: oneStep, Effects: marked,
			Commits: oneRow, Faults: unclear, MaxFaults: 2, Strikes: only(StepRecord, Commit),
		},
		"commit: beside steps": {
			Clients: clients(1, 2), Steps: twoSteps, Abandons: true, Commits: oneRow, Faults: lost,
			Strikes: only(StepRecord, Commit),
		},
		"commit: beside steps, a gate": {
			Clients: clients(1, 1), LeaseSteps: 1, Steps: oneStep, Abandons: true, Commits: either, Rows: open,
			Outside: shutsOpens, Faults: late, Strikes: ofCommit,
		},
		"commit: timed, with a heartbeat": {
			Clients: []Client{renewing}, Endings: answers, Timed: true, EndsEarly: true, TimeSteps: 4, Commits: oneRow,
			Faults: []Fault{LoseLate, Repeat, SlowRequest, SlowReply}, Strikes: only(Renewal, Commit),
		},
		"commit: timed, renewals that come late": {
			Clients: []Client{renewing}, Endings: answers, Timed: true, EndsEarly: true, TimeSteps: 3, Commits: gated,
			Rows: open, Outside: shutsOpens, Faults: []Fault{LoseLate, LoseReply}, MaxFaults: 2,
			Strikes: only(Renewal, Commit, Fence),
		},
		"commit: timed, a slow commit": {
			Clients: []Client{renewing, dated}, Timed: true, TimeSteps: 4, Commits: oneRow, Faults: slow,
			Strikes: ofCommit,
		},
		"commit: timed, a gate and a heartbeat": {
			Clients: []Client{renewing}, Endings: answers, Timed: true, EndsEarly: true, TimeSteps: 3, Commits: either,
			Rows: open, Outside: shutsOpens, Faults: []Fault{LoseLate, LoseReply, SlowRequest},
			Strikes: only(Renewal, Commit, Fence),
		},
		"commit: timed, the heartbeat goes on": {
			Clients: []Client{renewing, dated}, Timed: true, TimeSteps: 4, Commits: gated, Rows: shut,
		},
		"commit: timed, slow steps beside it": {
			Clients: []Client{renewing}, Timed: true, TimeSteps: 3, Steps: oneStep, Abandons: true, Commits: oneRow,
			Faults: slow, Strikes: only(StepRecord),
		},
	}
}
