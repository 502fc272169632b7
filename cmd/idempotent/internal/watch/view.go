package watch

import (
	"slices"
	"time"
)

// View is what is known at one instant.
type View struct {
	At, Started time.Time

	// Outcomes and Signals are those that have happened, Deliveries is how many lines told an outcome.
	Deliveries        Count
	Outcomes, Signals []Count
	Operations        []Operation
	// Others are counts about batches, outboxes, reconciliations and sweeps; Levels is what is as much now.
	Others []Count
	Levels []Level

	SlowClaims, SlowHandles []Slow
	// Unknown are the records that became UNKNOWN last, the last one first.
	Unknown []Became
	// Failure is the last failure of the store, nil if there was none.
	Failure *Failure

	Lines Lines
	Tail  *TailState
	Open  *Open
	// Ended is true if no line comes any more.
	Ended bool
}

// Count is how often something happened.
type Count struct {
	Name string
	// Of is what it happened to, empty for all operations together.
	Of            string
	Minute, Total float64
}

// Operation is what was delivered to one operation, and how much of it somebody should look at.
type Operation struct {
	Name                    string
	Minute, Total, Troubles float64
}

// Level is how much of something there is.
type Level struct {
	Name, Of string
	Value    float64
}

// Lines is what is known of the lines themselves.
type Lines struct {
	// All came, of which Foreign are somebody else's and Broken cannot be understood, Long of them because of their length.
	All, Foreign, Broken, Long Count
	// Last is when one came, LastCounted when one was understood; zero for never.
	Last, LastCounted time.Time
	LastBroken        string
	// Both are subjects of which lines of both forms tell the same, of which one is counted.
	Both int
}

// View returns what is known now.
func (t *Tally) View() View {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	v := View{
		At: now, Started: t.started, SlowClaims: t.slowest[claiming].minute(now), SlowHandles: t.slowest[handling].minute(now),
		Unknown: slices.Clone(t.unknown), Deliveries: Count{Name: "deliveries"},
		Lines: Lines{
			All: t.lines.all.count("lines", now), Foreign: t.lines.foreign.count("foreign", now), Broken: t.lines.broken.count("broken", now),
			Long: t.lines.long.count("long", now), Last: t.lines.last, LastCounted: t.lines.lastCounted, LastBroken: t.lines.lastBroken,
		},
	}
	slices.Reverse(v.Unknown)
	if !t.failure.At.IsZero() {
		failure := t.failure
		v.Failure = &failure
	}
	sums := make(map[string]Count)
	for _, s := range t.subjectNames() {
		v.add(s, t.subjects[s], sums, now)
	}
	for _, o := range append(slices.Clone(outcomes), otherOutcome) {
		if c, is := sums[string(o)]; is {
			v.Outcomes = append(v.Outcomes, c)
			v.Deliveries.Minute += c.Minute
			v.Deliveries.Total += c.Total
		}
	}
	for _, name := range signals {
		if c, is := sums[name]; is {
			v.Signals = append(v.Signals, c)
		}
	}
	return v
}

func (s *series) count(name string, now time.Time) Count {
	return Count{Name: name, Minute: s.minute(now), Total: s.total}
}

// add adds what is known of a subject.
func (v *View) add(s subject, all *told, sums map[string]Count, now time.Time) {
	twice := false
	for i := range all {
		both := &all[i]
		twice = twice || both[ofEMF] != nil && both[ofSlog] != nil
		if c := shown(both, now); c != nil {
			v.addCounts(s, c, sums, now)
		}
	}
	if twice {
		v.Lines.Both++
	}
}

// addCounts adds what is about deliveries to the sums, the rest as it is. Only one topic of a subject has outcomes.
func (v *View) addCounts(s subject, c *counts, sums map[string]Count, now time.Time) {
	o := Operation{Name: s.name}
	for _, name := range sortedNames(c.series) {
		one := c.series[name].count(name, now)
		isOutcome := known[name] || name == otherOutcome
		if !isOutcome && !slices.Contains(signals, name) {
			one.Of = s.name
			v.Others = append(v.Others, one)
			continue
		}
		if isOutcome {
			o.Minute += one.Minute
			o.Total += one.Total
		}
		if troubles[name] {
			o.Troubles += one.Minute
		}
		sum := sums[name]
		sums[name] = Count{Name: name, Minute: sum.Minute + one.Minute, Total: sum.Total + one.Total}
	}
	if o.Total > 0 {
		v.Operations = append(v.Operations, o)
	}
	for _, name := range sortedNames(c.levels) {
		v.Levels = append(v.Levels, Level{Name: name, Of: s.name, Value: c.levels[name]})
	}
}
