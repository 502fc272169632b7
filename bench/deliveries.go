package main

import "time"

// answered is what the handlers answer. By hand nothing beyond the limit of an item can be stored.
type answered struct {
	result

	byHand bool
	// first is how long a first execution may take, beside the same calls by hand.
	first float64
}

var results = []answered{
	{orders("1 KB", 1<<10), true, firstGoal},
	{orders("20 KB", 20<<10), true, firstGoal},
	{orders("100 KB", 100<<10), true, firstGoal},
	{noise("100 KB of noise", 100<<10), true, noiseGoal},
	{orders("5 MB", 5<<20), false, 0},
	{noise("5 MB of noise", 5<<20), false, 0},
}

// smallest is the result for which the library's own allocations are limited: beyond it, they grow
// with the result.
const smallest = 2 << 10

// The goals are those of docs/cost.md: how long a delivery may take, beside the same calls by hand,
// and a step, by itself.
const (
	firstGoal  = 1.5
	noiseGoal  = 2.0 // of what does not shrink
	replayGoal = 1.0
	stepGoal   = 10 * time.Microsecond
)

// firsts are first executions: each delivery has a key of its own.
var firsts = plan{
	about: `A POST of 3 KB through an HTTP API under a new key: claim, handler, completion. The handler itself does
nothing. By hand are the same calls without fingerprint and scope; own is what the library adds to them, or to
the handler alone. Compression takes time to save write units, see docs/cost.md.`,
	groups: func() ([]group, error) {
		return compared((*subject).rehearsedExecution, func(r answered) goals {
			limits := goals{ratio: r.first}
			if r.size < smallest {
				limits.ownAllocs = 70
			}
			return limits
		})
	},
}

// replays are deliveries of a key that was completed.
var replays = plan{
	about: `The same POST under a key that was completed: a refused PutItem brings the result, larger ones are read
beside it. By hand the result is taken from the refusal. The handler does not run, except alone.`,
	groups: func() ([]group, error) {
		return compared((*subject).rehearsedReplay, func(answered) goals { return goals{ratio: replayGoal} })
	},
}

// compared is a group for each result: the handler alone, by hand where that can be, and wrapped.
// rehearse returns what a case measures, goal what is expected of a result beside the same by hand.
func compared(
	rehearse func(*subject, *fake) (run func(n int) error, err error), goal func(answered) goals,
) ([]group, error) {
	var groups []group
	for _, r := range results {
		g := group{heading: r.name}
		g.cases = []measured{{name: unwrapped.name, run: unwrapped.of(r.result, nil).executions}}
		ways := []way{wrapped}
		if r.byHand {
			ways = []way{handmade, wrapped, uncompressed}
		}
		for i, w := range ways {
			f := newFake()
			run, err := rehearse(w.of(r.result, f), f)
			if err != nil {
				return nil, err
			}
			m := measured{name: w.name, run: run}
			if i > 0 {
				m.of, m.goals = 1, goal(r) // beside the same by hand
			}
			g.cases = append(g.cases, m)
		}
		groups = append(groups, g)
	}
	return groups, nil
}
