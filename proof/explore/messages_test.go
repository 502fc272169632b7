package explore

import (
	"github.com/go-idempotent/idempotent/internal/dev/rows"
)

// orderPlaced is what the handlers commit: a message and nothing else. twoMessages are two of one
// commit.
var (
	placed      = rows.Write{Sends: true, Key: "order-placed"}
	orderPlaced = []rows.Writes{{placed}}
	twoMessages = []rows.Writes{{placed, {Sends: true, Key: "receipt"}}}

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
	return map[string]Scenario{
		"messages: every commit": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Commits: orderPlaced,
			Faults: append(AllFaults(), CommitFaults()...), Strikes: ofCommit,
			Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: arrive},
		},
		"messages: a commit of a gate": {
			Clients: clients(1, 2), Endings: mayFail, LeaseSteps: 1, Commits: placedEither, Rows: open,
			Outside: shutsOpens, Faults: lost, Strikes: ofCommit,
			Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: bounces},
		},
		"messages: crashes of a handler": {
			Clients: clients(2, 1), LeaseSteps: 2, Commits: orderPlaced, Faults: []Fault{DieBefore, DieAfter, DieLate},
			MaxFaults: 2, Strikes: ofCommit, Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: arrive},
		},
		"messages: a stream": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 1, Handovers: 5, Receives: anyhow, Hurried: true},
		},
		"messages: a stream with faults": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 1, Handovers: 4, Receives: bounces, Faults: faults, MaxFaults: 3},
		},
		"messages: two relays": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 2, Handovers: 3, Receives: anyhow, Faults: faults},
		},
		"messages: a drain beside a stream": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 2, Handovers: 2, Drains: 1, Receives: bounces, DueSteps: 1, Faults: few},
		},
		"messages: two drains": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 2, Drains: 3, Receives: bounces, DueSteps: 1, Faults: few},
		},
		"messages: drains that die": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 1, Drains: 4, Receives: bounces, DueSteps: 3, Faults: deaths, MaxFaults: 2},
		},
		"messages: poison": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 1, Handovers: 2, Drains: 3, Receives: poison, DueSteps: 2, Faults: few},
		},
		"messages: redriven": {
			Clients: clients(1, 1), Commits: orderPlaced, Relays: Relays{
				Processes: 1, Handovers: 2, Drains: 1, DueSteps: 1, Redrives: 1, Receives: anyhow, Faults: faults,
			},
		},
		"messages: a message that is given up beside a drain": {
			Clients: clients(1, 1), Commits: orderPlaced,
			Relays: Relays{Processes: 2, Handovers: 1, Drains: 1, Redrives: 1, Receives: anyhow, Faults: few},
		},
		"messages: another commit after the expiry": {
			Clients: clients(2, 1), ExpirySteps: 1, Commits: orderPlaced,
			Relays: Relays{Processes: 1, Handovers: 2, Receives: anyhow, Faults: late},
		},
		"messages: another commit beside a drain": {
			Clients: clients(2, 1), ExpirySteps: 1, Commits: orderPlaced,
			Relays: Relays{Processes: 1, Drains: 1, Receives: anyhow, Faults: late},
		},
		"messages: two commits in a batch": {
			Clients: clients(2, 1), ExpirySteps: 1, Commits: orderPlaced,
			Relays: Relays{Processes: 1, Handovers: 2, Batches: true, Receives: bounces},
		},
		"messages: two messages": {
			Clients: rivals, ExpirySteps: 1, Commits: orderPlaced,
			Relays: Relays{Processes: 1, Handovers: 1, Drains: 1, Batches: true, Receives: bounces},
		},
		"messages: a batch": {
			Clients: clients(1, 1), Commits: twoMessages,
			Relays: Relays{Processes: 1, Handovers: 2, Drains: 1, Batches: true, Receives: bounces, Faults: few},
		},
	}
}
