package explore

import (
	"fmt"
	"slices"
)

// event is something that invariants are about. They look at it before the chronicle knows of it.
type event struct {
	kind eventKind
	// d is who has begun, was answered, has written or sends. It is nil for the table itself.
	d *delivery
	// change is what was written or is sent.
	change
	// step is the one that began, or that has returned out and err; own is the error of its
	// function.
	step     int
	out      Done
	err, own error
	// tried is the commit that has returned err.
	tried int
	// What happened to a message, if anything did.
	*mailEvent
}

type eventKind int

const (
	evBegan      eventKind = iota // a handler runs
	evAnswered                    // a delivery has ended
	evSent                        // a call is about to be granted
	evDone                        // an operator was told what became of its change
	evPassed                      // time has passed
	evStepBegan                   // the function of a step runs
	evStepped                     // Step has returned
	evCommitted                   // Commit has returned
	evAsked                       // a resolver is asked, or somebody is given a record to be given up
	evReconciled                  // a reconciliation has ended
	evOver                        // every lease has ended
	evRemoved                     // the table has deleted a record that has expired

	// Somebody has written: what has changed a record, what has left one, and what has replaced one
	// by another.
	evWritten
	evChanged
	evLeft
	evReplaced

	evSentMessage    // a commit has put a message, which the world does not know yet
	evDelivers       // a delivery of one begins
	evWrittenMessage // a relay has changed one
	evReported       // a relay says what became of one
	evTold           // the stream is told of it, at the end of the round
	evDrained        // everything was drained, and the receiver has taken everything
)

// kinds are all that an event is of.
func (e *event) kinds() []eventKind {
	all := []eventKind{e.kind}
	if e.kind != evWritten {
		return all
	}
	if e.before != nil {
		all = append(all, evChanged)
	}
	if e.after != nil {
		all = append(all, evLeft)
	}
	if e.before != nil && e.after != nil {
		all = append(all, evReplaced)
	}
	return all
}

// subject is the event as that of a sentence.
func (w *world) subject(e *event) string {
	switch e.kind {
	case evBegan:
		return e.d.name + " executes"
	case evAnswered:
		return fmt.Sprintf("%s is answered %q", e.d.name, e.d.answer())
	case evSent, evWritten:
		return fmt.Sprintf("the %s of %s", e.d.callName(e.call), e.d.name)
	case evDone:
		return fmt.Sprintf("the operator %s", w.operator.deed)
	case evStepBegan:
		return fmt.Sprintf("%s begins the step %s", e.d.name, w.Steps[e.step].Name)
	case evStepped:
		return fmt.Sprintf("the step %s of %s, which %s,", w.Steps[e.step].Name, e.d.name, e.d.steps[e.step].told)
	case evCommitted:
		return fmt.Sprintf("commit %d of %s is told %q", e.tried+1, e.d.name, e.d.tries[e.tried].told)
	case evAsked:
		return e.d.name + " asks"
	case evReconciled:
		return fmt.Sprintf("%s is told %q", e.d.name, e.d.outcome())
	case evSentMessage:
		return fmt.Sprintf("the message %s of %s", e.of.name, e.of.by.name)
	case evWrittenMessage:
		return fmt.Sprintf("a %s of %s", e.write.Op, w.nameOf(e.was.ID, e.was.Owner))
	case evDelivers, evReported, evTold:
		return fmt.Sprintf("%s, with %s,", e.round.name, w.nameOf(e.entry.ID, e.entry.Owner))
	default: // nobody does it
		return "meanwhile"
	}
}

// check lets the invariants look at an event.
func (w *world) check(e *event) {
	if e.d == nil {
		e.d = e.by
	}
	if w.broken == nil && !w.Repeats() {
		w.broken = w.brokenBy(e)
	}
}

// brokenBy is the first invariant that does not hold at an event, nil if all do.
func (w *world) brokenBy(e *event) error {
	for _, rule := range invariants {
		for _, kind := range e.kinds() {
			if wrong, is := rule.on[kind]; is {
				if what := wrong(w, e); what != "" {
					return fmt.Errorf("%s: %s %s", rule.name, w.subject(e), what)
				}
			}
		}
	}
	return nil
}

// rule is a part of an invariant of docs/guarantees.md, whose number its name begins with. By the
// kinds of events that it is about it says what is wrong: nothing, or how the sentence goes on
// whose subject is the event.
type rule struct {
	name string
	on   on
}

type on = map[eventKind]func(w *world, e *event) string

// invariants are the rules of all. The first one that does not hold is told.
var invariants = slices.Concat(
	guaranteeRules, protocolRules, stepRules, commitRules, relayRules, operatorRules, reconcileRules)
