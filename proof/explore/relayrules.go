package explore

import (
	"fmt"
	"slices"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/proof/schedules"
)

// mailEvent is something that the rules of messages are about.
type mailEvent struct {
	kind mailEventKind
	// of is the message that it is about, nil if no commit has put it.
	of    *generation
	round *round
	// entry is what is delivered, or was reported with outcome.
	entry   rows.Entry
	outcome relay.Outcome
	// call has changed before into after.
	call          rows.BoxCall
	before, after rows.Message
	// redriven: what was given up was redriven, and drained again.
	redriven bool
}

type mailEventKind int

const (
	evSentMessage    mailEventKind = iota // a commit has put a message, which the world does not know yet
	evDelivers                            // a delivery begins
	evWrittenMessage                      // a relay has changed a message
	evReported                            // a relay says what became of a message
	evTold                                // the stream is told of it, at the end of the round
	evDrained                             // everything was drained, and the receiver has taken everything
)

// onMail are the parts of a rule of messages, by the kinds of events that they are about.
type onMail = map[mailEventKind]func(w *world, e mailEvent) string

// mailRules are those of messages, in the order of I10.
var mailRules = schedules.Rules[mailEventKind, *world, mailEvent]{
	{"I10 a message leaves only if its commit happened", onMail{evDelivers: leavesOnlyIfCommitted}},
	{"I10 a message that has left arrives", onMail{evDrained: arrives}},
	{"I10 a message has the same id whenever it is sent", onMail{evSentMessage: hasOneID}},
	{"I10 only a message that was delivered is done", onMail{evWrittenMessage: doneIsDelivered}},
	{"I10 a relay changes no message of another commit", onMail{evWrittenMessage: changesItsOwn}},
	{"I10 a message is given up for a reason", onMail{evWrittenMessage: givenUpForAReason}},
	{"I10 a drain leaves alone what is given up", onMail{evWrittenMessage: drainLeavesGivenUp}},
	{"I10 no more tries are counted than there were", onMail{evWrittenMessage: triesHappened}},
	{"I10 a drain tries no message more often than it may", onMail{evWrittenMessage: drainsTryNoMore}},
	{"I10 a stream is told of a message until something is written of it", onMail{evTold: toldUntilWritten}},
	{"I10 a stream does not repeat a message for ever", onMail{evReported: repeatsEnd}},
}

func (w *world) checkMail(e mailEvent) {
	if w.broken == nil && !w.Repeats() {
		w.broken = mailRules.Broken(w, e, func() string { return w.subjectOfMail(e) }, e.kind)
	}
}

// subjectOfMail is an event as the subject of a sentence.
func (w *world) subjectOfMail(e mailEvent) string {
	switch e.kind {
	case evSentMessage:
		return fmt.Sprintf("the message %s of %s", e.of.name, e.of.by.name)
	case evWrittenMessage:
		return fmt.Sprintf("a %s of %s", e.call.Op, w.nameOf(e.before.ID, e.before.Owner))
	case evDelivers, evReported, evTold:
		return fmt.Sprintf("%s, with %s,", e.round.name, w.nameOf(e.entry.ID, e.entry.Owner))
	default:
		return "in the end"
	}
}

func leavesOnlyIfCommitted(_ *world, e mailEvent) string {
	return when(e.of == nil, "delivers a message that no commit has put")
}

func arrives(w *world, e mailEvent) string {
	for _, g := range w.mail.generations {
		m := w.table.Messages()[g.id]
		givenUp := m.GivenUp() && m.Owner == g.owner && !e.redriven
		if g.arrived == 0 && !g.replaced && !givenUp {
			return fmt.Sprintf("%s never arrives: %s", w.nameOf(g.id, g.owner), w.describeMessage(m))
		}
	}
	for _, m := range w.table.Messages() {
		if m.Pending() && (!m.GivenUp() || e.redriven) {
			return fmt.Sprintf("%s never becomes done: %s", w.nameOf(m.ID, m.Owner), w.describeMessage(m))
		}
	}
	return ""
}

func hasOneID(w *world, e mailEvent) string {
	for _, g := range w.mail.generations {
		if g.name == e.of.name && g.by.fingerprint == e.of.by.fingerprint && g.id != e.of.id {
			return "has another id than that of " + g.by.name
		}
	}
	return ""
}

func doneIsDelivered(_ *world, e mailEvent) string {
	was, is := e.before.Pending(), e.after.Pending()
	if !was && is {
		return "is of one that was done and is pending again"
	}
	return when(was && !is && (e.of == nil || e.of.arrived == 0), "is of one that was never delivered")
}

func changesItsOwn(w *world, e mailEvent) string {
	return when(e.call.Entry.Owner != e.before.Owner || e.after.Owner != e.before.Owner, "is meant for that of %s",
		w.ownerName(e.call.Entry.Owner))
}

func givenUpForAReason(_ *world, e mailEvent) string {
	return when(e.after.GivenUp() && !e.before.GivenUp() && !e.of.hopeless && !e.of.usedUp, "comes after %d tries",
		e.after.Tries)
}

func drainLeavesGivenUp(_ *world, e mailEvent) string {
	return when(e.call.Op == rows.Take && e.before.GivenUp(), "is of one that is given up")
}

func triesHappened(_ *world, e mailEvent) string {
	return when(e.of != nil && e.after.Tries > e.of.failed+e.of.taken+e.of.doubled,
		"leaves %d tries, and there were not as many", e.after.Tries)
}

func drainsTryNoMore(_ *world, e mailEvent) string {
	return when(e.call.Op == rows.Take && e.call.Entry.Tries >= maxTries, "comes although %d tries were read",
		e.call.Entry.Tries)
}

// toldUntilWritten is for tables without drains: what the stream is not told to repeat is lost to
// them, unless something is written of it.
func toldUntilWritten(_ *world, e mailEvent) string {
	return when(!e.outcome.Again() && !slices.Contains(e.round.answered, e.of),
		"says that it is %s, and does not know that anything was written of it", e.outcome)
}

func repeatsEnd(_ *world, e mailEvent) string {
	return when(e.of != nil && e.of.repeated > reports, "has the stream repeat it once more than it may")
}
