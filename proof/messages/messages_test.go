// Package messages_test plays every schedule of deliveries whose commits send messages, and of the relays that deliver those: the
// scenarios of package explore that are about I10.
package messages_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/proof/rows"
)

// orderPlaced is what the handlers commit: a message and nothing else.
var orderPlaced = []rows.Writes{{{Op: rows.Send, Key: "order-placed", Set: map[string]int64{"amount": 5}}}}

var (
	succeeds = []explore.Ending{explore.Succeeds}
	answers  = []explore.Ending{explore.Succeeds, explore.Fails}
	takes    = []explore.Receives{explore.Arrives}
	bounces  = []explore.Receives{explore.Arrives, explore.Bounces}
	anyhow   = []explore.Receives{explore.Arrives, explore.Bounces, explore.BouncesForGood}
	once     = []explore.Client{{Amount: 5, Deliveries: 1}}
	twice    = []explore.Client{{Amount: 5, Deliveries: 2}}
	two      = []explore.Client{{Amount: 5, Deliveries: 1}, {Amount: 5, Deliveries: 1}}
)

func scenarios() map[string]explore.Scenario {
	faults := explore.RelayFaults()
	return map[string]explore.Scenario{
		"a stream": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 1, Handovers: 4, Receives: anyhow},
		},
		"a stream and a fault": {
			Clients: once, Endings: succeeds, Commits: orderPlaced,
			Relays: explore.Relays{Processes: 2, Handovers: 3, Receives: bounces, Faults: faults, MaxFaults: 1},
		},
	}
}

func TestEveryScheduleKeepsTheInvariants(t *testing.T) {
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			r := run(t, s)
			if r.Violation != nil {
				t.Fatal(r.Violation)
			}
			require.Positive(t, r.Schedules)
			assert.NotNil(t, r.Seen)
			t.Log(r, r.Seen)
		})
	}
}

// run plays a scenario in a bubble of its own.
func run(t *testing.T, s explore.Scenario) (r explore.Report) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(*testing.T) { r = explore.Run(s) })
	return r
}
