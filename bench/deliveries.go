package main

import "time"

// answered is what the handlers answer. By hand nothing beyond the limit of an item can be stored.
type answered struct {
	result

	byHand bool
	// replay is how long a whole replay may take.
	replay time.Duration
}

// wrappers are the ways in which the library is measured.
func (a answered) wrappers() []func(result, connection) *subject {
	if !a.byHand {
		return []func(result, connection) *subject{wrapped}
	}
	return []func(result, connection) *subject{wrapped, uncompressed}
}

var results = []answered{
	{orders("1 KB", 1<<10), true, 80 * time.Microsecond},
	{orders("20 KB", 20<<10), true, 140 * time.Microsecond},
	{orders("100 KB", 100<<10), true, 420 * time.Microsecond},
	{noise("100 KB of noise", 100<<10), true, 0},
	{orders("5 MB", 5<<20), false, 0},
	{noise("5 MB of noise", 5<<20), false, 0},
}

// smallest is the result for which the library's own part is limited: beyond it, it grows with the result.
const smallest = 2 << 10

// firsts are first executions: each delivery has a key of its own.
var firsts = plan{
	about: "A POST of 3 KB through an HTTP API under a new key: claim, handler, completion. The handler itself does nothing. " +
		"By hand are the same calls without fingerprint and scope; own is what the library adds to them, or to the handler alone. " +
		"Compression takes time to save write units, see docs/cost.md.",
	groups: func() ([]group, error) {
		var groups []group
		for _, r := range results {
			u := unwrapped(r.result)
			g := group{heading: r.name, cases: []measured{{name: u.name, run: u.executions}}}
			limits := goals{}
			if r.byHand {
				c := connect()
				h := handmade(r.result, c)
				if err := h.rehearsedExecution(c); err != nil {
					return nil, err
				}
				g.cases = append(g.cases, measured{name: h.name, run: h.executions})
				limits.ratio = 1.2
				if r.size < smallest {
					limits.own, limits.ownAllocs = 15*time.Microsecond, 25
				}
			}
			of := g.cases[len(g.cases)-1].name
			for _, wrap := range r.wrappers() {
				c := connect()
				w := wrap(r.result, c)
				if err := w.rehearsedExecution(c); err != nil {
					return nil, err
				}
				g.cases = append(g.cases, measured{name: w.name, run: w.executions, of: of, goals: limits})
			}
			groups = append(groups, g)
		}
		return groups, nil
	},
}

// replays are deliveries of a key that was completed.
var replays = plan{
	about: "The same POST under a key that was completed: a refused PutItem brings the result, larger ones are read beside it. " +
		"By hand the result is taken from the refusal. The handler does not run, except alone.",
	groups: func() ([]group, error) {
		var groups []group
		for _, r := range results {
			u := unwrapped(r.result)
			g := group{heading: r.name, cases: []measured{{name: u.name, run: u.executions}}}
			limits := goals{}
			if r.byHand {
				c := connect()
				h := handmade(r.result, c)
				key, err := h.rehearsedReplay(c)
				if err != nil {
					return nil, err
				}
				g.cases = append(g.cases, measured{name: h.name, run: h.replays(key)})
				if r.size < smallest {
					limits.own, limits.ownAllocs = 10*time.Microsecond, 15
				}
			}
			limits.whole = r.replay
			of := g.cases[len(g.cases)-1].name
			for _, wrap := range r.wrappers() {
				c := connect()
				w := wrap(r.result, c)
				key, err := w.rehearsedReplay(c)
				if err != nil {
					return nil, err
				}
				g.cases = append(g.cases, measured{name: w.name, run: w.replays(key), of: of, goals: limits})
			}
			groups = append(groups, g)
		}
		return groups, nil
	},
}
