package explore

import (
	_ "embed"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/store"
)

// Which worlds are searched: with 1 also those that are large or deep, which take some minutes, or
// none that is long.
const (
	deepVariable  = "IDEMPOTENT_EXPLORE_DEEP"
	quickVariable = "IDEMPOTENT_EXPLORE_QUICK"
)

// clients are n that send the same request up to so many times.
func clients(n, deliveries int) []Client {
	return slices.Repeat([]Client{{Amount: 5, Deliveries: deliveries}}, n)
}

var (
	declines = []Ending{FailsTerminal} // so that a client sends again what has been completed
	mayFail  = []Ending{Succeeds, Fails}
	anyEnd   = []Ending{Succeeds, Fails, FailsNotExecuted, FailsTerminal, FailsUncertain, Panics}
	rivals   = []Client{{Amount: 5, Deliveries: 1}, {Amount: 6, Deliveries: 1}}
	// skewed clocks differ by as much as the margin of a lease covers.
	skewed = []Client{{Amount: 5, Deliveries: 1, Skew: protocol.DefaultMargin}, {Amount: 5, Deliveries: 1}}
	// apart are handled by two processes, together by one.
	apart          = []Client{{Amount: 5, Deliveries: 2, Process: 1}, {Amount: 5, Deliveries: 2, Process: 2}}
	apartAndSkewed = []Client{
		{Amount: 5, Deliveries: 2, Process: 1, Skew: protocol.DefaultMargin}, {Amount: 5, Deliveries: 2, Process: 2},
	}
	together = []Client{{Amount: 5, Deliveries: 2}, {Amount: 6, Deliveries: 2}}
)

func cached(s store.Store) store.Store { return cache.New(s, 1<<20) }

// scenarios are small enough to be played in every test run.
func scenarios() map[string]Scenario {
	faults := AllFaults()
	// What outlives its delivery and may meet the record of another time.
	late := []Fault{LoseLate, FailLate, DieLate, DieAfter, Repeat}
	all := map[string]Scenario{
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
		"waiting":    {Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Faults: faults, Options: waits},
		"resolver":   {Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 1, Faults: faults, Resolver: true},
		"two caches": {Clients: apart, Endings: declines, LeaseSteps: 1, ExpirySteps: 1, Before: cached},
		"two caches and clocks that differ": {
			Clients: apartAndSkewed, Endings: declines, ExpirySteps: 1, Before: cached,
		},
		"one cache": {
			Clients: []Client{together[0], {Amount: 6, Deliveries: 1}}, Endings: declines, ExpirySteps: 1,
			Before: cached,
		},
		"a fault and two caches": {Clients: apart, LeaseSteps: 1, Faults: late, Before: cached},
		"a fault and one cache":  {Clients: together, Faults: faults, Before: cached},
	}
	for _, more := range []map[string]Scenario{
		foundScenarios(), timedScenarios(), operatorScenarios(), stepScenarios(), commitScenarios(),
		reconcileScenarios(), attentionScenarios(), messageScenarios(), goingOnScenarios(), deployedScenarios(),
		deepScenarios(),
	} {
		maps.Copy(all, more)
	}
	return all
}

// family are worlds whose names begin alike. What one of them leaves open is as usual.
func family(name string, usual Scenario, worlds map[string]Scenario) map[string]Scenario {
	all := map[string]Scenario{}
	for of, s := range worlds {
		fields, usually := reflect.ValueOf(&s).Elem(), reflect.ValueOf(usual)
		for i := range fields.NumField() {
			if fields.Field(i).IsZero() {
				fields.Field(i).Set(usually.Field(i))
			}
		}
		all[name+of] = s
	}
	return all
}

// deepScenarios have more of everything.
func deepScenarios() map[string]Scenario {
	faults := AllFaults()
	return family("deep: ", Scenario{Clients: clients(2, 1)}, map[string]Scenario{
		"a fault and the expiry":            {Endings: mayFail, LeaseSteps: 1, ExpirySteps: 1, Faults: faults},
		"three deliveries, each sent twice": {Clients: clients(3, 2), Endings: mayFail, LeaseSteps: 1},
		"two deliveries, each sent twice, one fault": {
			Clients: clients(2, 2), Endings: mayFail, LeaseSteps: 1, Faults: faults,
		},
		"three deliveries, every ending, two ends":       {Clients: clients(3, 1), Endings: anyEnd, LeaseSteps: 2},
		"three deliveries, every ending, and the expiry": {Clients: clients(3, 1), Endings: anyEnd, ExpirySteps: 1},
		"two faults, two ends": {
			Endings: mayFail, LeaseSteps: 2, Faults: faults, MaxFaults: 2,
		},
		"one cache":            {Clients: together, Endings: declines, ExpirySteps: 1, Before: cached},
		"resolver, two faults": {LeaseSteps: 2, Faults: faults, MaxFaults: 2, Resolver: true},
	})
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

var (
	//go:embed testdata/long.txt
	long string
	//go:embed testdata/seen.txt
	seen string
)

// longSteps take about a quarter of a second. What takes more is a line of long.
const longSteps = 20_000

// TestEveryScheduleKeepsTheInvariants searches worlds, each in a test of its own and several at
// once. The flag -run of the go command selects some by name.
func TestEveryScheduleKeepsTheInvariants(t *testing.T) {
	deep := os.Getenv(deepVariable) == "1"
	quick := os.Getenv(quickVariable) == "1" && !deep
	worlds := scenarios()
	maps.DeleteFunc(worlds, func(name string, _ Scenario) bool {
		return !deep && (slices.Contains(large, name) || strings.HasPrefix(name, "deep: "))
	})
	var (
		mu       sync.Mutex
		searched int
		counts   = map[string]int{}
	)
	t.Run("all", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(worlds)) {
			isLong := slices.Contains(strings.Split(long, "\n"), name)
			if quick && isLong {
				continue
			}
			t.Run(name, func(t *testing.T) {
				r := searchOf(t, worlds[name])
				if r.Violation != nil {
					t.Fatal(r.Violation)
				}
				require.NotZero(t, r.Schedules)
				if long := r.Steps > longSteps; long != isLong && !deep {
					t.Errorf("it has %d steps: that it is long has to be %v", r.Steps, long)
				}
				t.Log(r)
				mu.Lock()
				defer mu.Unlock()
				for what, n := range r.Seen {
					counts[what] += n
				}
				searched++
			})
		}
	})
	t.Logf("%d of %d worlds were searched", searched, len(worlds))
	if searched < len(worlds) {
		return
	}
	for _, what := range mustBeSeen() {
		assert.Positive(t, counts[what], "it is never seen: %s", what)
	}
}

// searchOf searches a world in a bubble of its own: in it the waiting of what is searched takes no
// time.
func searchOf(t *testing.T, s Scenario) (r Report) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(*testing.T) { r = Run(s) })
	return r
}

// TestSchedulesAreCounted counts by hand. If A claims first, B starts and claims anywhere after: 9
// ways. If B claims first, A claims at one of 3 points after.
func TestSchedulesAreCounted(t *testing.T) {
	r := searchOf(t, Scenario{Clients: clients(2, 1)})
	require.Nil(t, r.Violation)
	assert.Equal(t, uint64(12), r.Schedules)
	assert.LessOrEqual(t, uint64(r.Played), r.Schedules)
}

// mustBeSeen is what the scenarios together have to lead to. A search that never gets there proves
// nothing about it.
func mustBeSeen() []string {
	names := strings.Split(strings.TrimSpace(seen), "\n")
	for _, late := range []string{
		"renewal", "claim", "swap", "delete", "change of an operator", "step", "start mark", "commit", "fence", "mark",
		"count", "take", "give up",
	} {
		names = append(names, "late "+late+" applied", "late "+late+" refused")
	}
	for _, deed := range AllDeeds() {
		does := "operator " + string(deed)
		names = append(names, does+": done", does+": not done", "operator applied: "+string(deed))
	}
	for _, f := range slices.Concat(AllFaults(), SlowFaults(), CommitFaults(), []Fault{Conflict}) {
		names = append(names, "fault: "+f.String())
	}
	for _, f := range RelayFaults() {
		names = append(names, "fault of a relay: "+f.String())
	}
	return names
}
