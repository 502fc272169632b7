package consumers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/proof/schedules"
	"github.com/go-idempotent/idempotent/report"
)

// event is something that rules are about.
type event struct {
	kind eventKind
	stop *stop // all but evCalm have one
}

type eventKind int

const (
	evClaims     eventKind = iota // a delivery asks for its claim
	evBegan                       // a handler runs
	evStored                      // a result is about to be stored
	evTakes                       // a function of the configuration gets a record
	evVisibility                  // the visibility of messages is about to change
	evAnswered                    // a function has returned
	evCalm                        // nothing goes wrong any more, and everything was handed over again
)

// on are the parts of a rule, by the kinds of events that they are about.
type on = map[eventKind]func(w *world, e event) string

// rules are those of I12 in docs/guarantees.md, and those of I1 as far as batches could break it.
var rules = schedules.Rules[eventKind, *world, event]{
	{"I12 an answer names records of the event, and never nothing", on{evAnswered: answerNamesRecords}},
	{"I12 only what is done is acknowledged", on{evAnswered: acknowledgedIsDone}},
	{"I12 what is done in a batch is not named", on{evAnswered: doneIsNotNamed}},
	{"I12 a group keeps its order", on{evBegan: groupKeepsItsOrder}},
	{"I12 every record ends once nothing goes wrong", on{evCalm: everyRecordEnds}},
	{"I12 nothing is begun without the time for it", on{evClaims: nothingIsBegunLate}},
	{"I12 copies run one after the other", on{evClaims: copiesTakeTurns}},
	{"I12 a message runs once in a batch", on{evClaims: runsOnce}},
	{"I12 a function gets what it is for", on{evTakes: functionGetsItsOwn}},
	{"I12 the visibility is that of the lease, of messages that come again", on{
		evVisibility: visibilityIsThatOfTheLease,
	}},
	{"I1 one execution is committed", on{evStored: oneExecution, evBegan: oneExecution}},
}

func (w *world) check(e event) {
	if w.broken == nil && !w.Repeats() {
		w.broken = rules.Broken(w, e, e.subject, e.kind)
	}
}

// subject is the event as that of a sentence.
func (e event) subject() string {
	switch e.kind {
	case evCalm:
		return "in the end"
	case evBegan:
		return fmt.Sprintf("the handler of %s in %s", e.stop.id, e.stop.of.name)
	case evTakes:
		return fmt.Sprintf("the function for %s in %s", e.stop.at, e.stop.of.name)
	default:
		return e.stop.of.name
	}
}

// arrive notes where a goroutine has come to.
func (w *world) arrive(s *stop) {
	i := s.of
	if i.dead.Load() {
		i.ended = i.ended || s.at == atEnd
		if s.at != atEnd && s.at != atDone {
			w.stops = append(w.stops, s)
		}
		return
	}
	switch s.at {
	case atCall:
		if s.call.Op == calls.Claim {
			w.check(event{kind: evClaims, stop: s})
			w.enters(s)
		}
	case atEnding:
		w.Sayf("  %s: the handler of %s runs", i.name, s.id)
		w.check(event{kind: evBegan, stop: s})
		i.executing[s.key] = s.id
	case atTerminal, atPoison:
		w.check(event{kind: evTakes, stop: s})
	case atVisibility:
		w.check(event{kind: evVisibility, stop: s})
	case atAnswer:
		i.answered = true
		w.Sayf("%s: %s returns %s, %v", w.clockText(), i.name, strings.Join(i.failed, " "), i.err)
		w.check(event{kind: evAnswered, stop: s})
	case atDone:
		w.leaves(s)
		return
	case atEnd:
		i.ended = true
		return
	}
	w.stops = append(w.stops, s)
}

// enters notes that a delivery has begun, or claims once more.
func (w *world) enters(s *stop) {
	if !s.of.inside[s.key] {
		s.of.begun[s.key]++
		if s.of.begun[s.key] > s.of.copies(s.key) {
			w.Saw("tried once more")
		}
		s.of.inside[s.key] = true
		delete(s.of.executing, s.key)
	}
}

// leaves notes that a delivery has ended.
func (w *world) leaves(s *stop) {
	i := s.of
	w.Saw("delivery: " + string(s.outcome))
	w.Sayf("  %s: a delivery ends: %s", i.name, s.outcome)
	i.inside[s.key] = false
	if id := i.executing[s.key]; id != "" && s.outcome == report.Executed {
		i.done[id] = i.endings[id] == Succeeds || i.endings[id] == FailsTerminal && w.results[s.key].by != nil
	}
	i.forgets(s)
	i.gets(s)
}

// stored notes a result.
func (w *world) stored(s *stop) {
	w.check(event{kind: evStored, stop: s})
	id := s.of.executing[s.key]
	w.results[s.key] = result{by: s.of, id: id, ending: s.of.endings[id]}
	w.unknown[s.key] = false
	w.Saw("result stored")
}

// poisonous reports whether no repetition helps a record: it has no key, or that of another record,
// stored or running, or an unknown outcome.
func (w *world) poisonous(r Record) bool {
	key := w.parts.RecordKey(r)
	stored, is := w.results[key]
	others := is && w.recordOf(stored.id).Amount != r.Amount || !is && w.held(key) != nil && w.owned(r)
	return r.Key == "" || w.unknown[key] || others
}

// owned reports whether the record of a key, which is in progress, is that of an event with another
// fingerprint.
func (w *world) owned(r Record) bool {
	held := w.held(w.parts.RecordKey(r))
	for _, other := range w.Records {
		if other.Key == r.Key && other.Amount != r.Amount && w.described[other.ID].Fingerprint == held.Fingerprint {
			return true
		}
	}
	return false
}

// isDone says whether a record need not come again: an execution of it has ended for good, in this
// invocation or as the store says, and the functions of the configuration that are to have it have
// it.
func (w *world) isDone(r Record, i *invocation) bool {
	if w.took[r.ID] {
		return true
	}
	stored, is := w.results[w.parts.RecordKey(r)]
	switch {
	case is && w.recordOf(stored.id).Amount == r.Amount:
		return !w.Terminal || stored.ending != FailsTerminal
	default: // the store could not keep it, which does not undo it
		return i.done[r.ID]
	}
}

// acknowledges are the records of a batch that an answer lets go.
func (i *invocation) acknowledges() (all []Record) {
	if i.err != nil {
		return nil
	}
	for _, r := range i.records {
		named := slices.Contains(i.failed, i.world.parts.Identifier(r))
		if named && i.world.Source.stream() {
			return all // the checkpoint
		}
		if !named {
			all = append(all, r)
		}
	}
	return all
}

func acknowledgedIsDone(w *world, e event) string {
	for _, r := range e.stop.of.acknowledges() {
		if !w.isDone(r, e.stop.of) {
			return "acknowledges " + r.ID + ", which is not done"
		}
	}
	return ""
}

func answerNamesRecords(w *world, e event) string {
	i := e.stop.of
	if w.Source.stream() && len(i.failed) > 1 {
		return "names more than one sequence number"
	}
	for n, id := range i.failed {
		known := slices.ContainsFunc(i.records, func(r Record) bool { return w.parts.Identifier(r) == id })
		if !known || slices.Contains(i.failed[:n], id) {
			return fmt.Sprintf("names %q", id)
		}
	}
	return ""
}

func doneIsNotNamed(w *world, e event) string {
	i := e.stop.of
	for _, r := range i.records {
		if slices.Contains(i.failed, w.parts.Identifier(r)) && i.done[r.ID] && w.isDone(r, i) {
			return fmt.Sprintf("names %s, which it has done", r.ID)
		}
	}
	return ""
}

func groupKeepsItsOrder(w *world, e event) string {
	group := w.recordOf(e.stop.id).Group
	for _, r := range w.Records {
		if r.ID == e.stop.id || w.Source == Standard {
			break
		}
		if r.Group == group && !w.source.ended(r.ID) && !w.isDone(r, e.stop.of) {
			return fmt.Sprintf("runs, and %s before it in its group is not done", r.ID)
		}
	}
	return ""
}

func everyRecordEnds(w *world, _ event) string {
	for _, r := range w.Records {
		if !w.source.ended(r.ID) {
			return r.ID + " comes again and again"
		}
	}
	return ""
}

func nothingIsBegunLate(w *world, e event) string {
	left := e.stop.of.deadline.Sub(e.stop.begins)
	return schedules.When(!e.stop.of.inside[e.stop.key] && left < w.parts.Reserve, "begins a record with %v left", left)
}

func copiesTakeTurns(w *world, e event) string {
	beside := slices.ContainsFunc(w.stops, func(s *stop) bool {
		return s.of == e.stop.of && s.key == e.stop.key && (s.at == atCall || s.at == atEnding)
	})
	return schedules.When(beside, "runs two copies of a record at once")
}

func runsOnce(w *world, e event) string {
	i, key := e.stop.of, e.stop.key
	return schedules.When(!i.inside[key] && !w.Source.stream() && i.begun[key] >= i.copies(key),
		"hands a message to the handler twice")
}

func functionGetsItsOwn(w *world, e event) string {
	s := e.stop
	r := w.recordOf(s.id)
	stored, is := w.results[w.parts.RecordKey(r)]
	ok := w.poisonous(r)
	if s.at == atTerminal {
		ok = is && stored.ending == FailsTerminal || s.of.endings[s.id] == FailsTerminal
	}
	return schedules.When(!ok, "gets %s", s.id)
}

func visibilityIsThatOfTheLease(w *world, e event) string {
	s := e.stop
	first := w.recordOf(s.id)
	if s.after <= 0 {
		return fmt.Sprintf("lets %s come again after %v", s.id, s.after)
	}
	if held := w.held(w.parts.RecordKey(first)); held != nil && !held.Lease.IsZero() {
		if left := held.Lease.Sub(s.begins); w.results[held.Key].by == nil && s.after < left-time.Second {
			return fmt.Sprintf("lets %s come again after %v, and the lease has %v", s.id, s.after, left)
		}
	}
	for _, id := range s.records {
		switch r := w.recordOf(id); {
		case !s.of.has(id):
			return fmt.Sprintf("changes the visibility of %s, which it does not have", id)
		case id != s.id && (w.Source != FIFO || r.Group != first.Group):
			return fmt.Sprintf("changes the visibility of %s because of %s", id, s.id)
		case s.of.done[id]:
			return fmt.Sprintf("changes the visibility of %s, which is done", id)
		}
	}
	behind := false
	for _, r := range s.of.records {
		if w.Source == FIFO && behind && r.Group == first.Group && !slices.Contains(s.records, r.ID) {
			return fmt.Sprintf("sets %s aside, and not %s behind it", s.id, r.ID)
		}
		behind = behind || r.ID == s.id
	}
	return ""
}

func oneExecution(w *world, e event) string {
	if first, is := w.results[e.stop.key]; is {
		return fmt.Sprintf("has a result of %s, and so has %s", e.stop.of.executing[e.stop.key], first.by.name)
	}
	return ""
}
