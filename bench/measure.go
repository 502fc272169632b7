package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// plan prepares the groups of a section.
type plan struct {
	about  string
	groups func() ([]group, error)
}

const aboutFake = `
DynamoDB is played at once by a fake below HTTP, so the time is that of this process: SDK, handler and what
stands between.`

// measure is the section of a plan.
func (p plan) measure(rounds int) (table, error) {
	groups, err := p.groups()
	if err != nil {
		return table{}, err
	}
	return measureGroups(p.about+aboutFake, groups, rounds)
}

func measureGroups(about string, groups []group, rounds int) (table, error) {
	whole := table{about: about}
	for _, g := range groups {
		t, err := g.measure(rounds)
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", g.heading, err)
		}
		whole.add(g.heading, t)
	}
	return whole, nil
}

// group is a part of a table: cases that do the same work. The first one is the measure of the
// others.
type group struct {
	heading string
	cases   []measured
}

// measured is one case.
type measured struct {
	name string
	// run does the work n times.
	run func(n int) error
	// of is the case of the group that this one is compared with, the first one by default.
	of    int
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
func (g group) measure(rounds int) (table, error) {
	sizes := make([]int, len(g.cases))
	for i, m := range g.cases {
		sizes[i] = 1
		if rounds == onlyOnce {
			continue
		}
		var err error
		if sizes[i], err = m.calibrate(); err != nil {
			return table{}, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	samples := make([][]sample, len(g.cases))
	for range max(rounds, 1) {
		for i, m := range g.cases {
			s, err := m.sample(sizes[i])
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", m.name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	return g.table(samples), nil
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
func (g group) table(samples [][]sample) table {
	t := table{header: columns}
	for i, m := range g.cases {
		f := compare(samples[i], samples[m.of])
		row := []string{
			m.name,
			fmt.Sprintf("%.2f", f.ratio), fmt.Sprintf("%.0f%%", 100*f.spread), micros(f.own), micros(f.whole),
			count(f.ownAllocs), count(f.allocs), bytesOf(f.bytes),
		}
		if i == m.of { // it has nothing of its own
			row[2], row[3], row[5] = "", "", ""
		}
		t.rows = append(t.rows, append(row, m.goals.judge(f)))
	}
	return t
}

// figures are what a row says, in nanoseconds, counts and bytes.
type figures struct {
	ratio, spread     float64 // spread is half the interquartile range of the ratio, as a part of it
	own, whole        float64
	ownAllocs, allocs float64
	bytes, ownSize    float64
}

func compare(samples, of []sample) (f figures) {
	ratios := paired(samples, of, func(s, of sample) float64 { return s.nanoseconds / of.nanoseconds })
	f.ratio = median(ratios)
	f.spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2 / f.ratio
	f.whole, f.own = beside(samples, of, func(s sample) float64 { return s.nanoseconds })
	f.allocs, f.ownAllocs = beside(samples, of, func(s sample) float64 { return s.allocs })
	f.bytes, _ = beside(samples, of, func(s sample) float64 { return s.bytes })
	return f
}

// beside returns the median of a figure, and of what it is more than in another case, round by
// round.
func beside[S any](samples, of []S, figure func(S) float64) (whole, own float64) {
	return median(paired(samples, of, func(s, _ S) float64 { return figure(s) })),
		median(paired(samples, of, func(s, of S) float64 { return figure(s) - figure(of) }))
}

// paired is what each round of two cases gives.
func paired[S any](samples, of []S, figure func(s, of S) float64) []float64 {
	values := make([]float64, len(samples))
	for round, s := range samples {
		values[round] = figure(s, of[round])
	}
	return values
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
