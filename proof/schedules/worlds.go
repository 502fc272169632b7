package schedules

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Worlds are those that a package of the proof searches, by name.
type Worlds[W any] struct {
	All map[string]W
	// Long are the names of those that take more than a few seconds each.
	Long []string
	// Run searches one.
	Run func(W) Report
	// Seen is what they have to lead to together. A search that never gets there proves nothing about it.
	Seen []string
}

// Which worlds are searched: with QuickVariable set to 1 all but the long ones, with SHARD=2/8 the second of eight parts. The flag -run
// of the go command selects them by name.
const (
	QuickVariable = "IDEMPOTENT_EXPLORE_QUICK"
	shardVariable = "SHARD"
)

// Search searches worlds, each in a test of its own and several at once, and requires that every rule holds in every schedule.
func (w Worlds[W]) Search(t *testing.T) {
	t.Helper()
	names, err := w.chosen(os.Getenv(shardVariable), os.Getenv(QuickVariable) == "1")
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		done  int
		total = Report{Seen: map[string]int{}}
	)
	t.Run("all", func(t *testing.T) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				r := w.One(t, w.All[name])
				if r.Violation != nil {
					t.Fatal(r.Violation)
				}
				if r.Schedules == 0 {
					t.Fatal("it has no schedule")
				}
				t.Log(r)
				mu.Lock()
				defer mu.Unlock()
				done++
				total.add(r)
			})
		}
	})
	t.Log("all together:", total)
	t.Logf("%d of %d worlds were searched", done, len(w.All))
	if missing := total.Missing(w.Seen...); done == len(w.All) && len(missing) > 0 {
		t.Errorf("never seen: %q; what was: %q", missing, total.Names())
	}
}

// One searches one world, in a bubble of its own: in it the waiting of what is searched takes no time.
func (w Worlds[W]) One(t *testing.T, world W) (r Report) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(*testing.T) { r = w.Run(world) })
	return r
}

// chosen are the names of the worlds of a part, dealt like cards.
func (w Worlds[W]) chosen(shard string, quick bool) (names []string, err error) {
	part, parts := 1, 1
	if shard != "" {
		if _, err := fmt.Sscanf(shard, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
			return nil, fmt.Errorf("%s is %q, and should be as 2/8", shardVariable, shard)
		}
	}
	for n, name := range slices.Sorted(maps.Keys(w.All)) {
		if n%parts == part-1 && !(quick && slices.Contains(w.Long, name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

// add counts what another search has seen.
func (r *Report) add(other Report) {
	r.Schedules += other.Schedules
	r.Played += other.Played
	r.Merged += other.Merged
	r.States += other.States
	r.Longest = max(r.Longest, other.Longest)
	for what, n := range other.Seen {
		r.Seen[what] += n
	}
}
