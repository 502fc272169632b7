package watch

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tally counts what lines say. It is safe for concurrent use, and its size does not depend on how many lines there are.
type Tally struct {
	now func() time.Time

	mu       sync.Mutex
	started  time.Time
	subjects map[subject]*told
	lines    lines
	slowest  [phases]slowest
	unknown  []Became
	failure  Failure
}

// subject is what lines are about.
type subject struct {
	name   string
	outbox bool
}

// told is what lines say about one subject: by what they tell of, and by their form.
type told [topics][forms]*counts

// counts are what the lines of one topic and one form say about one subject.
type counts struct {
	last   time.Time
	series map[string]*series
	levels map[string]float64
}

// lines is what is known of the lines themselves.
type lines struct {
	all, foreign, broken, long *series

	last, lastCounted time.Time
	lastBroken        string
}

// Became is a record that has become UNKNOWN.
type Became struct {
	Record, Operation, Reason string
	At                        time.Time
}

// Failure is the last failure of the store.
type Failure struct {
	Operation, Why string
	At             time.Time
}

// keptUnknown is how many of the last records that became UNKNOWN are kept.
const keptUnknown = 5

// NewTally makes an empty one that goes by a clock.
func NewTally(now func() time.Time) *Tally {
	return &Tally{
		now: now, started: now(), subjects: make(map[subject]*told),
		lines: lines{all: new(series), foreign: new(series), broken: new(series), long: new(series)},
	}
}

// Add takes a line. One that was longer than what is kept of it is not understood.
func (t *Tally) Add(text []byte, long bool) {
	if len(strings.TrimSpace(string(text[:min(len(text), 64)]))) == 0 && len(text) <= 64 {
		return // nobody means an empty line
	}
	var l line
	if long {
		l.kind = broken
	} else {
		l = read(text)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.lines.all.add(now, 1)
	t.lines.last = now
	switch l.kind {
	case foreign:
		t.lines.foreign.add(now, 1)
	case broken:
		t.lines.broken.add(now, 1)
		t.lines.lastBroken = string(text[:min(len(text), maxText)])
		if long {
			t.lines.long.add(now, 1)
		}
	case counted:
		t.lines.lastCounted = now
		t.count(&l, now)
	case detailed:
		t.lines.lastCounted = now
	}
}

func (t *Tally) count(l *line, now time.Time) {
	c := t.of(subject{l.subject, l.outbox}, l)
	c.last = now
	for _, m := range l.counts {
		s := c.series[m.name]
		if s == nil {
			if len(c.series) == maxNames {
				continue
			}
			s = new(series)
			c.series[strings.Clone(m.name)] = s
		}
		s.add(now, m.value)
		switch m.name {
		case becameUnknown:
			t.became(l, now)
		case storeError:
			t.failure = Failure{l.subject, l.failure, now}
		}
	}
	for _, m := range l.levels {
		c.levels[m.name] = m.value
	}
	t.slowest[claiming].add(now, Slow{l.record, l.subject, l.claim})
	t.slowest[handling].add(now, Slow{l.record, l.subject, l.handle})
}

// of finds the counts of a subject to which a line adds, or those of the rest if there are too many.
func (t *Tally) of(s subject, l *line) *counts {
	all := t.subjects[s]
	if all == nil && len(t.subjects) >= maxSubjects {
		s = subject{name: rest}
		all = t.subjects[s]
	}
	if all == nil {
		all = new(told)
		t.subjects[s] = all
	}
	c := &all[l.topic][l.form]
	if *c == nil {
		*c = &counts{series: make(map[string]*series), levels: make(map[string]float64)}
	}
	return *c
}

// became keeps the last records that became UNKNOWN. A record of which two lines tell is one.
func (t *Tally) became(l *line, now time.Time) {
	if l.record != "" && slices.ContainsFunc(t.unknown, func(b Became) bool { return b.Record == l.record && now.Sub(b.At) < window }) {
		return
	}
	t.unknown = append(t.unknown, Became{l.record, l.subject, l.reason, now})
	if len(t.unknown) > keptUnknown {
		t.unknown = slices.Delete(t.unknown, 0, len(t.unknown)-keptUnknown)
	}
}

// shown are the counts of the form that stands for both, nil if there are none: those of EMF while there are any, because a handler that writes
// both kinds of lines writes two about each delivery. Lines of another topic have no say in it: they come from another observer.
func shown(both *[forms]*counts, now time.Time) *counts {
	emf, log := both[ofEMF], both[ofSlog]
	switch {
	case emf == nil:
		return log
	case log != nil && now.Sub(emf.last) > preferred && log.last.After(emf.last):
		return log
	default:
		return emf
	}
}

// subjectNames are in the order in which they are shown.
func (t *Tally) subjectNames() []subject {
	return slices.SortedFunc(maps.Keys(t.subjects), func(a, b subject) int {
		if a.outbox != b.outbox {
			if a.outbox {
				return 1
			}
			return -1
		}
		return strings.Compare(a.name, b.name)
	})
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
