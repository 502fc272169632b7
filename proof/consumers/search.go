package consumers

import "fmt"

// search walks the tree of choices depth first. A schedule is a path from the root; the next one is the same path up to
// the last choice that has an alternative left.
type search struct {
	taken []choice
	depth int
	// known are the states that were left for good, with the number of schedules that go through each of them to an end.
	known  map[uint64]uint64
	report Report
}

// choice is one of several, made in a state; schedules counts those that went on from there.
type choice struct {
	picked, of int
	state      uint64
	schedules  uint64
}

func newSearch() *search {
	return &search{known: map[uint64]uint64{}, report: Report{Seen: map[string]int{}}}
}

// choose returns the choice that this schedule makes here. The state counts where the schedule is fresh.
func (s *search) choose(of int, state uint64) int {
	if s.fresh() {
		s.taken = append(s.taken, choice{of: of, state: state})
		s.report.States++
	}
	c := s.taken[s.depth]
	if c.of != of {
		panic(fmt.Sprintf("consumers: step %d had %d choices and now has %d: a delivery does not repeat itself", s.depth, c.of, of))
	}
	s.depth++
	return c.picked
}

// fresh reports whether this schedule has left the path of the one before.
func (s *search) fresh() bool { return s.depth == len(s.taken) }

// end counts what the last choice led to: so many schedules.
func (s *search) end(schedules uint64) {
	s.report.Longest = max(s.report.Longest, s.depth)
	s.taken[len(s.taken)-1].schedules += schedules
}

// next moves on to the next schedule and reports whether there is one. What follows from a state never leads back to
// it, so a state that is left is known to its end.
func (s *search) next() bool {
	s.depth = 0
	for n := len(s.taken) - 1; n >= 0; n-- {
		c := &s.taken[n]
		if c.picked+1 < c.of {
			c.picked++
			return true
		}
		s.known[c.state] = c.schedules
		s.taken = s.taken[:n]
		if n > 0 {
			s.taken[n-1].schedules += c.schedules
		} else {
			s.report.Schedules = c.schedules
		}
	}
	return false
}
