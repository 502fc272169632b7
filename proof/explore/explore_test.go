package explore_test

import (
	_ "embed"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/proof/schedules"
	"github.com/go-idempotent/idempotent/store"
)

// deepVariable plays the large and the deep scenarios too if it is 1. They take some minutes.
const deepVariable = "IDEMPOTENT_EXPLORE_DEEP"

// clients are n that send the same request up to so many times.
func clients(n, deliveries int) []explore.Client {
	return slices.Repeat([]explore.Client{{Amount: 5, Deliveries: deliveries}}, n)
}

var (
	declines = []explore.Ending{explore.FailsTerminal} // so that a client sends again what has been completed
	mayFail  = []explore.Ending{explore.Succeeds, explore.Fails}
	anyEnd   = []explore.Ending{
		explore.Succeeds, explore.Fails, explore.FailsNotExecuted, explore.FailsTerminal, explore.FailsUncertain,
		explore.Panics,
	}
	rivals = []explore.Client{{Amount: 5, Deliveries: 1}, {Amount: 6, Deliveries: 1}}
	// skewed clocks differ by as much as the margin of a lease covers.
	skewed = []explore.Client{{Amount: 5, Deliveries: 1, Skew: idempotent.DefaultMargin}, {Amount: 5, Deliveries: 1}}
	// apart are handled by two processes, together by one.
	apart          = []explore.Client{{Amount: 5, Deliveries: 2, Process: 1}, {Amount: 5, Deliveries: 2, Process: 2}}
	apartAndSkewed = []explore.Client{
		{Amount: 5, Deliveries: 2, Process: 1, Skew: idempotent.DefaultMargin}, {Amount: 5, Deliveries: 2, Process: 2},
	}
	together = []explore.Client{{Amount: 5, Deliveries: 2}, {Amount: 6, Deliveries: 2}}
)

func cached(s store.Store) store.Store { return cache.New(s, 1<<20) }

// scenarios are small enough to be played in every test run.
func scenarios() map[string]explore.Scenario {
	faults := explore.AllFaults()
	// What outlives its delivery and may meet the record of another time.
	late := []explore.Fault{explore.LoseLate, explore.FailLate, explore.DieLate, explore.DieAfter, explore.Repeat}
	// Shorter than the first interval between two looks, so that there is one look, at the end.
	waits := []idempotent.Option{idempotent.WithWait(40 * time.Millisecond)}
	all := map[string]explore.Scenario{
		"two deliveries, each sent twice, every ending": {Clients: clients(2, 2), Endings: anyEnd, LeaseSteps: 1},
		"two deliveries, ends of leases and expiry": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, ExpirySteps: 1,
		},
		"three deliveries":            {Clients: clients(3, 1), Endings: mayFail, LeaseSteps: 2},
		"two requests under one key":  {Clients: rivals, Endings: mayFail, LeaseSteps: 2, ExpirySteps: 1},
		"clocks that differ":          {Clients: skewed, Endings: mayFail, LeaseSteps: 2, ExpirySteps: 1},
		"one fault":                   {Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Faults: faults},
		"a fault and the expiry":      {Clients: clients(2, 1), ExpirySteps: 1, Faults: late},
		"two faults":                  {Clients: clients(2, 1), LeaseSteps: 1, Faults: faults, MaxFaults: 2},
		"a fault and another request": {Clients: rivals, LeaseSteps: 2, Faults: faults},
		"a fault and a retry": {
			Clients: clients(1, 3), Endings: mayFail, LeaseSteps: 1, Faults: faults, MaxFaults: 2,
		},
		"a fault between clocks that differ": {Clients: skewed, LeaseSteps: 2, Faults: faults},
		"unrepeatable": {
			Clients: clients(2, 1), Endings: anyEnd, LeaseSteps: 1, Faults: faults, Unrepeatable: true,
		},
		"waiting": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Faults: faults, Options: waits,
		},
		"resolver": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Faults: faults, Resolver: true,
		},
		"two caches": {
			Clients: apart, Endings: declines, LeaseSteps: 1, ExpirySteps: 1, Before: cached,
		},
		"two caches and clocks that differ": {
			Clients: apartAndSkewed, Endings: declines, ExpirySteps: 1, Before: cached,
		},
		"one cache": {
			Clients: []explore.Client{together[0], {Amount: 6, Deliveries: 1}}, Endings: declines, ExpirySteps: 1,
			Before: cached,
		},
		"a fault and two caches": {Clients: apart, LeaseSteps: 1, Faults: late, Before: cached},
		"a fault and one cache":  {Clients: together, Faults: faults, Before: cached},
	}
	maps.Copy(all, foundScenarios())
	maps.Copy(all, timedScenarios())
	maps.Copy(all, operatorScenarios())
	maps.Copy(all, stepScenarios())
	maps.Copy(all, commitScenarios())
	maps.Copy(all, reconcileScenarios())
	maps.Copy(all, attentionScenarios())
	maps.Copy(all, messageScenarios())
	maps.Copy(all, goingOnScenarios())
	maps.Copy(all, deepScenarios())
	return all
}

// deepScenarios have more of everything.
func deepScenarios() map[string]explore.Scenario {
	faults := explore.AllFaults()
	return map[string]explore.Scenario{
		"deep: a fault and the expiry": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, ExpirySteps: 1, Faults: faults,
		},
		"deep: three deliveries, each sent twice": {Clients: clients(3, 2), Endings: mayFail, LeaseSteps: 1},
		"deep: two deliveries, each sent twice, one fault": {
			Clients: clients(2, 2), Endings: mayFail, LeaseSteps: 1, Faults: faults,
		},
		"deep: three deliveries, every ending, two ends": {Clients: clients(3, 1), Endings: anyEnd, LeaseSteps: 2},
		"deep: three deliveries, every ending, and the expiry": {
			Clients: clients(3, 1), Endings: anyEnd, ExpirySteps: 1,
		},
		"deep: two faults, two ends": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Faults: faults, MaxFaults: 2,
		},
		"deep: one cache": {Clients: together, Endings: declines, ExpirySteps: 1, Before: cached},
		"deep: resolver, two faults": {
			Clients: clients(2, 1), LeaseSteps: 2, Faults: faults, MaxFaults: 2, Resolver: true,
		},
	}
}

// large are the scenarios that take longest. Most of them have two faults, or two of the things
// that others have one by one.
var large = []string{
	"attention: the expiry",
	"commit: a fault and a careless handler",
	"commit: again after one that nobody knows of",
	"messages: another commit after the expiry",
	"steps: an operator and a late message",
	"steps: two faults and a retry",
	"steps: two faults of steps",
}

// mustBeSeen is what the scenarios together have to lead to. A search that never gets there proves
// nothing about it.
var mustBeSeen = []string{
	"executed", "replayed", "in progress", "mismatch", "unknown outcome", "store unavailable", "resolved", "panicked",
	"settled: completed", "settled: released", "settled: unknown", "settled: still unknown", "settled: elsewhere",
	"settled: failed", "claim", "claim of an expired record", "takeover", "takeover of an UNKNOWN record",
	"own claim recognised", "own swap recognised", "undo of a claim", "undo of a takeover", "lost lease: executed",
	"lost lease: replayed", "lost lease: superseded", "claim of an expired record, INPROGRESS",
	"claim of an expired record, UNKNOWN", "renewal", "renewal given up", "late renewal applied",
	"late renewal refused", "slow claim", "slow takeover", "slow renewal", "slow completion", "slow release",
	"slow look", "completed", "completed although deleted", "completed although UNKNOWN",
	"completed in place of a crashed one", "unknown: crashed", "unknown: uncertain", "unknown: error",
	"unknown: panic", "unknown: result-lost", "resolver says executed", "resolver says untouched",
	"resolver says still unknown", "late claim applied", "late claim refused", "late swap applied",
	"late swap refused", "waited: replayed", "waited: executed", "waited: in progress", "answered from memory",
	"late delete applied", "late delete refused", "deleted by the table",
}

//go:embed testdata/long.txt
var long string

// worlds are the scenarios of this run.
func worlds() schedules.Worlds[explore.Scenario] {
	w := schedules.Worlds[explore.Scenario]{
		All: scenarios(), Run: explore.Run, Long: long,
		Seen: slices.Concat(mustBeSeen, operatorMustBeSeen, stepMustBeSeen, commitMustBeSeen, reconcileMustBeSeen,
			attentionMustBeSeen, messageMustBeSeen, goingOnMustBeSeen),
	}
	if os.Getenv(deepVariable) == "1" {
		w.Long = ""
	} else {
		maps.DeleteFunc(w.All, func(name string, _ explore.Scenario) bool {
			return slices.Contains(large, name) || strings.HasPrefix(name, "deep: ")
		})
	}
	for _, f := range slices.Concat(explore.AllFaults(), explore.SlowFaults(), explore.CommitFaults(),
		[]explore.Fault{explore.Conflict}) {
		w.Seen = append(w.Seen, "fault: "+f.String())
	}
	for _, f := range explore.RelayFaults() {
		w.Seen = append(w.Seen, "fault of a relay: "+f.String())
	}
	return w
}

func TestEveryScheduleKeepsTheInvariants(t *testing.T) { worlds().Search(t) }

// TestSchedulesAreCounted counts by hand. If A claims first, B starts and claims anywhere after: 9
// ways. If B claims first, A claims at one of 3 points after.
func TestSchedulesAreCounted(t *testing.T) {
	r := worlds().One(t, explore.Scenario{Clients: clients(2, 1)})
	require.Nil(t, r.Violation)
	assert.Equal(t, uint64(12), r.Schedules)
	assert.LessOrEqual(t, uint64(r.Played), r.Schedules)
}

// TestSearchesOfOneScenarioAreEqual: also where the protocol waits before it tries again.
func TestSearchesOfOneScenarioAreEqual(t *testing.T) {
	for _, name := range []string{"two deliveries, ends of leases and expiry", "one fault"} {
		t.Run(name, func(t *testing.T) {
			s := scenarios()[name]
			first := worlds().One(t, s)
			var second schedules.Report
			synctest.Test(t, func(*testing.T) { second = explore.Run(s) })
			assert.Equal(t, first, second)
		})
	}
}
