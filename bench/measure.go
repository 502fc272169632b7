package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// comparison is a group of cases that do the same work. The first one is the measure of the others.
type comparison struct{ cases []measured }

// measured is one case.
type measured struct {
	name string
	// run does the work n times.
	run func(n int) error
	// of is the case that this one is compared with, by name. Default is the first case.
	of    string
	goals goals
}

// sample is what one operation takes.
type sample struct{ nanoseconds, allocs, bytes float64 }

const (
	// roundTime is about how long one case works in one round: long enough for the clock of the
	// processor, whose steps are a few microseconds, and for a few collections of garbage.
	roundTime = 40 * time.Millisecond
	// maxCalibration is the most that calibrate tries at once, however little processor time it
	// takes.
	maxCalibration = 1 << 20
	// onlyOnce as the number of rounds runs each case once: to see that it works, not to learn what
	// it takes.
	onlyOnce = 0
)

// measure takes turns: every round runs all cases.
func (c comparison) measure(rounds int) (table, error) {
	for _, m := range c.cases {
		if m.of != "" && c.find(m.of) < 0 {
			return table{}, fmt.Errorf("%s: there is no case %q to compare it with", m.name, m.of)
		}
	}
	sizes := make([]int, len(c.cases))
	for i, m := range c.cases {
		sizes[i] = 1
		if rounds == onlyOnce {
			continue
		}
		var err error
		if sizes[i], err = m.calibrate(); err != nil {
			return table{}, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	samples := make([][]sample, len(c.cases))
	for range max(rounds, 1) {
		for i, m := range c.cases {
			s, err := m.sample(sizes[i])
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", m.name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	return c.table(samples), nil
}

// calibrate finds how many operations take about the time of a round. It also warms everything up.
func (m measured) calibrate() (int, error) {
	for n := 1; ; n *= 2 {
		s, err := m.sample(n)
		if err != nil {
			return 0, err
		}
		if took := s.nanoseconds * float64(n); took >= float64(roundTime/4) || n >= maxCalibration {
			return max(1, int(float64(n)*float64(roundTime)/max(took, 1))), nil
		}
	}
}

func (m measured) sample(n int) (sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := processorTime()
	err := m.run(n)
	took := processorTime() - began
	runtime.ReadMemStats(&after)
	return sample{
		nanoseconds: float64(took) / float64(n),
		allocs:      float64(after.Mallocs-before.Mallocs) / float64(n),
		bytes:       float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
	}, err
}

// processorTime is what this process has used so far, in user and system mode.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only an invalid argument can fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// goalColumn is the last one of every table.
const goalColumn = "goal"

// columns are those of a comparison.
var columns = []string{"", "ratio", "±", "own CPU", "CPU", "own allocs", "allocs", "bytes", goalColumn}

// table compares. A ratio is the median of the ratios of the rounds, and what is a case's own the
// median of the differences, so that what both cases of a round suffered from does not count.
func (c comparison) table(samples [][]sample) table {
	t := table{header: columns}
	for i, m := range c.cases {
		base := max(0, c.find(m.of))
		f := compare(samples[i], samples[base])
		row := []string{
			m.name,
			fmt.Sprintf("%.2f", f.ratio), fmt.Sprintf("%.0f%%", 100*f.spread), micros(f.own), micros(f.whole),
			count(f.ownAllocs), count(f.allocs), bytesOf(f.bytes),
		}
		if i == base { // it has nothing of its own
			row[2], row[3], row[5] = "", "", ""
		}
		t.rows = append(t.rows, append(row, m.goals.judge(f)))
	}
	return t
}

// find returns the index of a case, -1 if there is none of that name.
func (c comparison) find(name string) int {
	return slices.IndexFunc(c.cases, func(m measured) bool { return m.name == name })
}

// figures are what a row says, in nanoseconds, counts and bytes.
type figures struct {
	ratio, spread     float64 // spread is half the interquartile range of the ratio, as a part of it
	own, whole        float64
	ownAllocs, allocs float64
	bytes             float64
}

func compare(samples, of []sample) figures {
	each := func(f func(s, of sample) float64) []float64 {
		values := make([]float64, len(samples))
		for round, s := range samples {
			values[round] = f(s, of[round])
		}
		return values
	}
	ratios := each(func(s, of sample) float64 { return s.nanoseconds / of.nanoseconds })
	f := figures{
		ratio:     median(ratios),
		own:       median(each(func(s, of sample) float64 { return s.nanoseconds - of.nanoseconds })),
		whole:     median(each(func(s, _ sample) float64 { return s.nanoseconds })),
		ownAllocs: median(each(func(s, of sample) float64 { return s.allocs - of.allocs })),
		allocs:    median(each(func(s, _ sample) float64 { return s.allocs })),
		bytes:     median(each(func(s, _ sample) float64 { return s.bytes })),
	}
	f.spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2 / f.ratio
	return f
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile interpolates between neighbours.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
