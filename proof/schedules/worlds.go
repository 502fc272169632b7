package schedules

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// Worlds are those that a package of the proof searches, by name.
type Worlds[W any] struct {
	All map[string]W
	// Run searches one.
	Run func(world W) Report
	// Long are those that take more than longSteps, a line for each. A search of one says if that
	// is wrong. Without a line none is long.
	Long string
	// Seen is what they have to lead to together. A search that never gets there proves nothing
	// about it.
	Seen []string
}

// Which worlds are searched: with quickVariable set to 1 none that is long. The flag -run of the go
// command selects worlds by name.
const (
	quickVariable = "IDEMPOTENT_EXPLORE_QUICK"

	// longSteps take about a quarter of a second.
	longSteps = 20_000
)

// Search searches worlds, each in a test of its own and several at once, and requires that every
// rule holds in every schedule.
func (w Worlds[W]) Search(t *testing.T) {
	t.Helper()
	var (
		mu       sync.Mutex
		searched int
		total    = Report{Seen: map[string]int{}}
	)
	t.Run("all", func(t *testing.T) {
		for _, name := range w.chosen() {
			t.Run(name, func(t *testing.T) {
				r := w.One(t, w.All[name])
				if r.Violation != nil {
					t.Fatal(r.Violation)
				}
				if r.Schedules == 0 {
					t.Fatal("it has no schedule")
				}
				if long := r.Steps > longSteps; w.Long != "" && long != w.long(name) {
					t.Errorf("it has %d steps: that it is long has to be %v", r.Steps, long)
				}
				t.Log(r)
				mu.Lock()
				defer mu.Unlock()
				total = total.and(r)
				searched++
			})
		}
	})
	t.Log("all together:", total)
	t.Logf("%d of %d worlds were searched", searched, len(w.All))
	if missing := total.Missing(w.Seen...); searched == len(w.All) && len(missing) > 0 {
		t.Errorf("never seen: %q; what was: %q", missing, total.Names())
	}
}

// One searches a world in a bubble of its own: in it the waiting of what is searched takes no time.
func (w Worlds[W]) One(t *testing.T, world W) (r Report) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(*testing.T) { r = w.Run(world) })
	return r
}

// long reports whether a world is among the long ones.
func (w Worlds[W]) long(name string) bool { return slices.Contains(strings.Split(w.Long, "\n"), name) }

// chosen are the names of the worlds that are searched.
func (w Worlds[W]) chosen() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.All)), func(name string) bool {
		return os.Getenv(quickVariable) == "1" && w.long(name)
	})
}

// and counts what another search has seen, too.
func (r Report) and(other Report) Report {
	r.Schedules += other.Schedules
	r.Played += other.Played
	r.Merged += other.Merged
	r.States += other.States
	r.Longest = max(r.Longest, other.Longest)
	for what, n := range other.Seen {
		r.Seen[what] += n
	}
	return r
}
