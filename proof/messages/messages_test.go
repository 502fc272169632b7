// Package messages_test plays every schedule of deliveries whose commits send messages, and of the relays that deliver those: the
// scenarios of package explore that are about I10.
package messages_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/proof/schedules"
)

// orderPlaced is what the handlers commit: a message and nothing else. twoMessages are two of one commit.
var (
	placed      = rows.Write{Op: rows.Send, Key: "order-placed", Set: map[string]int64{"amount": 5}}
	orderPlaced = []rows.Writes{{placed}}
	twoMessages = []rows.Writes{{placed, {Op: rows.Send, Key: "receipt"}}}

	// either needs a gate to be open, and else sends the same message without it.
	either     = []rows.Writes{{placed, {Op: rows.Check, Key: "gate", If: []rows.Condition{{Kind: rows.Equal, Name: "open", Number: 1}}}}, {placed}}
	open       = map[string]rows.Row{"gate": {"open": 1}}
	shutsOpens = []rows.Writes{
		{{Op: rows.Update, Key: "gate", Set: map[string]int64{"open": 0}}}, {{Op: rows.Update, Key: "gate", Set: map[string]int64{"open": 1}}},
	}
)

var (
	succeeds = []explore.Ending{explore.Succeeds}
	answers  = []explore.Ending{explore.Succeeds, explore.Fails}
	takes    = []explore.Receives{explore.Arrives}
	bounces  = []explore.Receives{explore.Arrives, explore.Bounces}
	anyhow   = []explore.Receives{explore.Arrives, explore.Bounces, explore.BouncesForGood}
	anyEnd   = []explore.Receives{explore.Arrives, explore.Bounces, explore.BouncesForGood}
	poison   = []explore.Receives{explore.Bounces, explore.BouncesForGood}
	once     = []explore.Client{{Amount: 5, Deliveries: 1}}
	twice    = []explore.Client{{Amount: 5, Deliveries: 2}}
	two      = []explore.Client{{Amount: 5, Deliveries: 1}, {Amount: 5, Deliveries: 1}}
	rivals   = []explore.Client{{Amount: 5, Deliveries: 1}, {Amount: 6, Deliveries: 1}}
)

// scenarios are small enough to be played in every test run.
func scenarios() map[string]explore.Scenario {
	faults := explore.RelayFaults()
	lost := []explore.Fault{explore.LoseReply, explore.LoseLate, explore.FailAfter, explore.FailLate, explore.Repeat}
	deaths := []explore.Fault{explore.DieBefore, explore.DieAfter, explore.DieLate}
	late := []explore.Fault{explore.LoseLate}
	few := []explore.Fault{explore.LoseReply, explore.LoseLate, explore.DieLate}
	return map[string]explore.Scenario{
		"every commit": {
			Clients: two, Endings: answers, LeaseSteps: 1, Commits: orderPlaced,
			Faults: append(explore.AllFaults(), explore.CommitFaults()...), MaxFaults: 1, Strikes: ofCommit,
			Relays: explore.Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: takes},
		},
		"a commit of a gate": {
			Clients: twice, Endings: answers, LeaseSteps: 1, Commits: either, Rows: open, Outside: shutsOpens, Faults: lost, MaxFaults: 1,
			Strikes: ofCommit, Relays: explore.Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: bounces},
		},
		"crashes of a handler": {
			Clients: two, Endings: succeeds, LeaseSteps: 2, Commits: orderPlaced,
			Faults: []explore.Fault{explore.DieBefore, explore.DieAfter, explore.DieLate}, MaxFaults: 2, Strikes: ofCommit,
			Relays: explore.Relays{Processes: 1, Handovers: 1, Drains: 1, Receives: takes},
		},
		"a stream": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 5, Receives: anyEnd, Hurried: true},
		},
		"a stream with faults": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 4, Receives: bounces, Faults: faults, MaxFaults: 3},
		},
		"two relays": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 2, Handovers: 3, Receives: anyhow, Faults: faults, MaxFaults: 1},
		},
		"a drain beside a stream": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 2, Handovers: 2, Drains: 1, Receives: bounces, DueSteps: 1, Faults: few, MaxFaults: 1},
		},
		"two drains": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 2, Drains: 3, Receives: bounces, DueSteps: 1, Faults: few, MaxFaults: 1},
		},
		"drains that die": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Drains: 4, Receives: bounces, DueSteps: 3, Faults: deaths, MaxFaults: 2},
		},
		"poison": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 2, Drains: 3, Receives: poison, DueSteps: 2, Faults: few, MaxFaults: 1},
		},
		"redriven": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 2, Drains: 1, DueSteps: 1, Redrives: 1, Receives: anyhow, Faults: faults, MaxFaults: 1},
		},
		"a parked message beside a drain": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 2, Handovers: 1, Drains: 1, Redrives: 1, Receives: anyhow, Faults: few, MaxFaults: 1},
		},
		"another commit after the expiry": {
			Clients: two, Endings: succeeds, ExpirySteps: 1, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 2, Receives: anyhow, Faults: late, MaxFaults: 1},
		},
		"another commit beside a drain": {
			Clients: two, Endings: succeeds, ExpirySteps: 1, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Drains: 1, Receives: anyhow, Faults: late, MaxFaults: 1},
		},
		"two commits in a batch": {
			Clients: two, Endings: succeeds, ExpirySteps: 1, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 2, Batches: true, Receives: bounces},
		},
		"two messages": {
			Clients: rivals, Endings: succeeds, ExpirySteps: 1, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 1, Drains: 1, Batches: true, Receives: bounces},
		},
		"a batch": {
			Clients: once, Endings: succeeds, Commits: twoMessages,
			Relays: explore.Relays{Processes: 1, Handovers: 2, Drains: 1, Batches: true, Receives: bounces, Faults: few, MaxFaults: 1},
		},
	}
}

// ofCommit are the calls that a commit makes.
func ofCommit(_ explore.Fault, c explore.Call) bool { return c == explore.Commit || c == explore.Fence }

// mustBeSeen is what the scenarios together have to lead to. A search that never gets there proves nothing about it.
var mustBeSeen = []string{
	"message sent", "message replaced", "message redriven", "relay dies", "relay dies in a delivery",
	"message arrives", "message bounces", "message bounces for good",
	"message: delivered", "message: marked", "message: elsewhere", "message: failed", "message: put off", "message: parked",
	"message: unmarked", "message: uncounted", "message: not begun",
	"mark: true", "mark: false", "count: true", "count: false", "take: true", "take: false", "park: true", "park: false",
	"late mark applied", "late mark refused", "late count applied", "late count refused", "late take applied", "late take refused",
	"late park applied", "late park refused",
	"commit: landed", "commit: declined", "commit: lost lease", "commit: failed", "late commit applied", "late commit refused",
}

func TestEveryScheduleKeepsTheInvariants(t *testing.T) {
	played := scenarios()
	if underRace {
		maps.DeleteFunc(played, func(name string, _ explore.Scenario) bool { return !slices.Contains(smallest, name) })
	}
	var (
		mu   sync.Mutex
		done int
		seen = schedules.Report{Seen: map[string]int{}}
	)
	t.Run("all", func(t *testing.T) {
		for name, s := range played {
			t.Run(name, func(t *testing.T) {
				r := run(t, s)
				if r.Violation != nil {
					t.Fatal(r.Violation)
				}
				require.Positive(t, r.Schedules)
				t.Log(r)
				mu.Lock()
				defer mu.Unlock()
				done++
				seen.Schedules += r.Schedules
				for what, n := range r.Seen {
					seen.Seen[what] += n
				}
			})
		}
	})
	if done < len(scenarios()) {
		return // some failed, or were left out by the flags of this run
	}
	t.Logf("all together: %d schedules", seen.Schedules)
	assert.Empty(t, seen.Missing(mustBeSeen...), "something was never seen; what was: %q", seen.Names())
	for _, f := range explore.RelayFaults() {
		assert.Empty(t, seen.Missing("fault of a relay: "+f.String()), "every fault happened")
	}
}

// smallest are those that are played with the race detector: one goroutine runs at a time, so that there is little for it to find, and it
// takes long.
var smallest = []string{"a stream", "two drains", "crashes of a handler", "a parked message beside a drain"}

// run plays a scenario in a bubble of its own.
func run(t *testing.T, s explore.Scenario) (r schedules.Report) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(*testing.T) { r = explore.Run(s) })
	return r
}
