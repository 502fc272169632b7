package consumers

import (
	"fmt"
	"slices"
	"strings"
	"time"

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

// rules are those of I12 in docs/guarantees.md, and those of I1 as far as batches could break it.
var rules = []struct {
	name  string
	holds func(w *world, e event) string
}{
	{"I12 an answer names records of the event, and never nothing", answerNamesRecords},
	{"I12 only what is done is acknowledged", acknowledgedIsDone},
	{"I12 what is done in a batch is not named", doneIsNotNamed},
	{"I12 a group keeps its order", groupKeepsItsOrder},
	{"I12 every record ends once nothing goes wrong", everyRecordEnds},
	{"I12 nothing is begun without the time for it", nothingIsBegunLate},
	{"I12 copies run one after the other", copiesTakeTurns},
	{"I12 a message runs once in a batch", runsOnce},
	{"I12 a function gets what it is for", functionGetsItsOwn},
	{"I12 the visibility is that of the lease, of messages that come again", visibilityIsThatOfTheLease},
	{"I1 one execution is committed", oneExecution},
}

func (w *world) check(e event) {
	for _, r := range rules {
		if wrong := r.holds(w, e); wrong != "" && w.broken == nil {
			w.broken = fmt.Errorf("%s: %s", r.name, wrong) //nolint:err113 // for a reader
		}
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
		if s.call.op == opClaim {
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

// poisonous says why no repetition helps a record, empty if one does.
func (w *world) poisonous(r Record) string {
	key := w.parts.RecordKey(r)
	stored, is := w.results[key]
	switch {
	case r.Key == "":
		return "no key"
	case is && w.recordOf(stored.id).Amount != r.Amount:
		return "the key of another record"
	case w.unknown[key]:
		return "an unknown outcome"
	case !is && w.held(key) != nil && w.owned(r):
		return "the key of another record that runs"
	}
	return ""
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
	if e.kind != evAnswered {
		return ""
	}
	for _, r := range e.stop.of.acknowledges() {
		if !w.isDone(r, e.stop.of) {
			return fmt.Sprintf("%s acknowledges %s, which is not done", e.stop.of.name, r.ID)
		}
	}
	return ""
}

func answerNamesRecords(w *world, e event) string {
	if e.kind != evAnswered {
		return ""
	}
	i := e.stop.of
	if w.Source.stream() && len(i.failed) > 1 {
		return i.name + " names more than one sequence number"
	}
	for n, id := range i.failed {
		known := slices.ContainsFunc(i.records, func(r Record) bool { return w.parts.Identifier(r) == id })
		if !known || slices.Contains(i.failed[:n], id) {
			return fmt.Sprintf("%s names %q", i.name, id)
		}
	}
	return ""
}

func doneIsNotNamed(w *world, e event) string {
	if e.kind != evAnswered {
		return ""
	}
	i := e.stop.of
	for _, r := range i.records {
		if slices.Contains(i.failed, w.parts.Identifier(r)) && i.done[r.ID] && w.isDone(r, i) {
			return fmt.Sprintf("%s names %s, which it has done", i.name, r.ID)
		}
	}
	return ""
}

func groupKeepsItsOrder(w *world, e event) string {
	if e.kind != evBegan || w.Source == Standard {
		return ""
	}
	group := w.recordOf(e.stop.id).Group
	for _, r := range w.Records {
		if r.ID == e.stop.id {
			break
		}
		if r.Group == group && !w.source.ended(r.ID) && !w.isDone(r, e.stop.of) {
			return fmt.Sprintf("the handler of %s runs in %s, and %s before it in its group is not done", e.stop.id,
				e.stop.of.name, r.ID)
		}
	}
	return ""
}

func everyRecordEnds(w *world, e event) string {
	if e.kind != evCalm {
		return ""
	}
	for _, r := range w.Records {
		if !w.source.ended(r.ID) {
			return r.ID + " comes again and again"
		}
	}
	return ""
}

func nothingIsBegunLate(w *world, e event) string {
	if e.kind != evClaims || e.stop.of.inside[e.stop.key] {
		return ""
	}
	if left := e.stop.of.deadline.Sub(e.stop.begins); left < w.parts.Reserve {
		return fmt.Sprintf("%s begins a record with %v left", e.stop.of.name, left)
	}
	return ""
}

func copiesTakeTurns(w *world, e event) string {
	if e.kind != evClaims {
		return ""
	}
	for _, s := range w.stops {
		if s.of == e.stop.of && s.key == e.stop.key && (s.at == atCall || s.at == atEnding) {
			return e.stop.of.name + " runs two copies of a record at once"
		}
	}
	return ""
}

func runsOnce(w *world, e event) string {
	if e.kind != evClaims || e.stop.of.inside[e.stop.key] || w.Source.stream() {
		return ""
	}
	if e.stop.of.begun[e.stop.key] >= e.stop.of.copies(e.stop.key) {
		return e.stop.of.name + " hands a message to the handler twice"
	}
	return ""
}

func functionGetsItsOwn(w *world, e event) string {
	if e.kind != evTakes {
		return ""
	}
	s := e.stop
	r := w.recordOf(s.id)
	stored, is := w.results[w.parts.RecordKey(r)]
	ok := w.poisonous(r) != ""
	if s.at == atTerminal {
		ok = is && stored.ending == FailsTerminal || s.of.endings[s.id] == FailsTerminal
	}
	if !ok {
		return fmt.Sprintf("the function for %s gets %s in %s", s.at, s.id, s.of.name)
	}
	return ""
}

func visibilityIsThatOfTheLease(w *world, e event) string {
	if e.kind != evVisibility {
		return ""
	}
	s := e.stop
	first := w.recordOf(s.id)
	if s.after <= 0 {
		return fmt.Sprintf("%s lets %s come again after %v", s.of.name, s.id, s.after)
	}
	if held := w.held(w.parts.RecordKey(first)); held != nil && !held.Lease.IsZero() {
		if left := held.Lease.Sub(s.begins); w.results[held.Key].by == nil && s.after < left-time.Second {
			return fmt.Sprintf("%s lets %s come again after %v, and the lease has %v", s.of.name, s.id, s.after, left)
		}
	}
	for _, id := range s.records {
		switch r := w.recordOf(id); {
		case !s.of.has(id):
			return fmt.Sprintf("%s changes the visibility of %s, which it does not have", s.of.name, id)
		case id != s.id && (w.Source != FIFO || r.Group != first.Group):
			return fmt.Sprintf("%s changes the visibility of %s because of %s", s.of.name, id, s.id)
		case s.of.done[id]:
			return fmt.Sprintf("%s changes the visibility of %s, which is done", s.of.name, id)
		}
	}
	if w.Source != FIFO {
		return ""
	}
	behind := false
	for _, r := range s.of.records {
		if behind && r.Group == first.Group && !slices.Contains(s.records, r.ID) {
			return fmt.Sprintf("%s sets %s aside, and not %s behind it", s.of.name, s.id, r.ID)
		}
		behind = behind || r.ID == s.id
	}
	return ""
}

func oneExecution(w *world, e event) string {
	switch e.kind {
	case evStored:
		if first, is := w.results[e.stop.key]; is {
			return fmt.Sprintf("%s commits %s, which %s has committed", e.stop.of.name,
				e.stop.of.executing[e.stop.key], first.by.name)
		}
	case evBegan:
		if first, is := w.results[e.stop.key]; is {
			return fmt.Sprintf("%s executes %s although %s has committed it", e.stop.of.name, e.stop.id, first.by.name)
		}
	default:
	}
	return ""
}
