package explore

import (
	"fmt"
	"strings"
)

// Report is what a search has seen.
type Report struct {
	// Schedules is the number of all schedules.
	Schedules uint64
	// Played is how many of them were played to their end, Merged how many were left in a state
	// from which an earlier one had gone on; States is the number of different states.
	Played, Merged, States int
	// Steps is the number of choices that were made, Longest of those in the longest schedule.
	Steps, Longest int
	// Seen counts what happened, by name.
	Seen map[string]int
	// Violation is the first rule that did not hold, nil if all did.
	Violation *Violation
}

func (r Report) String() string {
	return fmt.Sprintf("%d schedules, %d played to the end and %d up to a known state; %d states; the longest has "+
		"%d steps",
		r.Schedules, r.Played, r.Merged, r.States, r.Longest)
}

// Violation is a rule that did not hold.
type Violation struct {
	// Err names the rule.
	Err error
	// Story is the schedule, a line for each step.
	Story []string
}

func (v *Violation) String() string {
	return fmt.Sprintf("%v, after\n  %s", v.Err, strings.Join(v.Story, "\n  "))
}

// search plays every schedule. The function plays one in a new world, which makes its choices with
// [schedule.Choose], and returns the rule that did not hold. The world must be the same each time,
// and what follows from a state must never lead back to it.
func search(play func(*schedule) error) Report {
	s := &schedule{known: map[uint64]uint64{}, report: Report{Seen: map[string]int{}}}
	for more := true; more; more = s.next() {
		s.merged = false
		err := play(s)
		switch {
		case err != nil:
			s.report.Violation = &Violation{Err: err, Story: retell(play, s.taken)}
			return s.report
		case s.merged:
			s.report.Merged++
		default:
			s.report.Played++
			s.end(1)
		}
	}
	return s.report
}

// retell plays the schedule of a violation again and writes it down.
func retell(play func(*schedule) error, taken []choice) []string {
	s := &schedule{Tells: true, taken: taken, report: Report{Seen: map[string]int{}}}
	_ = play(s) // the same violation again
	return s.story
}

// schedule makes the choices of a world. A schedule is a path from the root of the tree; the next
// one is the same path up to the last choice that has an alternative left.
type schedule struct {
	// Tells is true if the schedule is written down: [schedule.Sayf] does nothing otherwise.
	Tells bool
	story []string

	taken []choice
	depth int
	// known are the states that were left for good, with the number of schedules that go through
	// each of them to an end.
	known  map[uint64]uint64
	merged bool
	report Report
}

// choice is one of several, made in a state; schedules counts those that went on from there.
type choice struct {
	picked, of int
	state      uint64
	schedules  uint64
}

// Choose returns which of so many choices this schedule makes here. It is false if the schedule is
// over, because an earlier one has gone on from this state, which the function returns as a
// [digest].
func (s *schedule) Choose(of int, state func() uint64) (picked int, goesOn bool) {
	if s.depth == len(s.taken) { // the schedule has left the path of the one before
		at := state()
		if schedules, known := s.known[at]; known {
			s.merged = true
			s.end(schedules)
			return 0, false
		}
		s.taken = append(s.taken, choice{of: of, state: at})
		s.report.States++
	}
	c := s.taken[s.depth]
	if c.of != of {
		panic(fmt.Sprintf("explore: step %d had %d choices and now has %d: the world does not repeat itself",
			s.depth, c.of, of))
	}
	s.depth++
	s.report.Steps++
	return c.picked, true
}

// Repeats reports whether all that happens now has happened in the schedule before, and every rule
// has held.
func (s *schedule) Repeats() bool { return s.depth < len(s.taken) }

// Saw counts what happened.
func (s *schedule) Saw(what string) { s.report.Seen[what]++ }

// Sayf writes a line of the story.
func (s *schedule) Sayf(format string, args ...any) {
	if s.Tells {
		s.story = append(s.story, fmt.Sprintf(format, args...))
	}
}

// end counts what the last choice led to: so many schedules.
func (s *schedule) end(schedules uint64) {
	s.report.Longest = max(s.report.Longest, s.depth)
	s.taken[len(s.taken)-1].schedules += schedules
}

// next moves on to the next schedule and reports whether there is one. What follows from a state
// never leads back to it, so a state that is left is known to its end.
func (s *schedule) next() bool {
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
