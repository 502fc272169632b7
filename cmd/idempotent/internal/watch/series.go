package watch

import (
	"cmp"
	"slices"
	"time"
)

// seconds is how many are kept of a series.
const seconds = int64(window / time.Second)

// series is how much of something came, in all and in each of the last seconds.
type series struct {
	total float64
	ring  [seconds]float64
	// last is the second that was written to last.
	last int64
}

func (s *series) add(now time.Time, v float64) {
	s.advance(now.Unix())
	s.ring[s.last%seconds] += v
	s.total += v
}

// minute is how much came within the window.
func (s *series) minute(now time.Time) (sum float64) {
	s.advance(now.Unix())
	for _, v := range s.ring {
		sum += v
	}
	return sum
}

// advance empties the seconds that have passed. A clock that goes back adds to the last second.
func (s *series) advance(second int64) {
	if second-s.last >= seconds {
		s.ring, s.last = [seconds]float64{}, second
	}
	for s.last < second {
		s.last++
		s.ring[s.last%seconds] = 0
	}
}

// Slow is a delivery and how long a phase of it took.
type Slow struct {
	Record, Operation string
	Took              time.Duration
}

type phase int

const (
	claiming phase = iota
	handling
	phases
)

// keptSlow is how many are kept of each second, and shown.
const keptSlow = 3

// slowest are those that took longest in each of the last seconds.
type slowest struct {
	ring [seconds][]Slow
	last int64
}

func (s *slowest) add(now time.Time, v Slow) {
	v.Took = v.Took.Truncate(time.Microsecond) // as all lines have it
	if v.Took <= 0 {
		return
	}
	s.advance(now.Unix())
	s.ring[s.last%seconds] = most(append(s.ring[s.last%seconds], v))
}

func (s *slowest) minute(now time.Time) []Slow {
	s.advance(now.Unix())
	return most(slices.Concat(s.ring[:]...))
}

func (s *slowest) advance(second int64) {
	if second-s.last >= seconds {
		s.ring, s.last = [seconds][]Slow{}, second
	}
	for s.last < second {
		s.last++
		s.ring[s.last%seconds] = nil
	}
}

// most leaves the slowest, each once: of one delivery there may be two lines.
func most(all []Slow) []Slow {
	slices.SortStableFunc(all, func(a, b Slow) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Record, b.Record))
	})
	all = slices.Compact(all)
	return all[:min(len(all), keptSlow)]
}
