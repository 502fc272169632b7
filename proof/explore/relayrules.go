package explore

import (
	"fmt"
	"slices"

	"github.com/go-idempotent/idempotent/internal/relay"
)

var relayRules = []rule{
	{"I10 a message leaves only if its commit happened", on{evDelivers: func(_ *world, e *event) string {
		return when(e.of == nil, "delivers a message that no commit has put")
	}}},
	{"I10 a message that has left arrives", on{evDrained: func(w *world, e *event) string {
		for _, g := range w.mail.generations {
			m := w.outbox.messages[g.id]
			givenUp := m.GivenUp && m.Owner == g.owner && !e.redriven
			if g.arrived == 0 && !g.replaced && !givenUp {
				return fmt.Sprintf("%s never arrives: %s", w.nameOf(g.id, g.owner), w.describeMessage(m))
			}
		}
		for _, m := range w.outbox.messages {
			if pending(m) && (!m.GivenUp || e.redriven) {
				return fmt.Sprintf("%s never becomes done: %s", w.nameOf(m.ID, m.Owner), w.describeMessage(m))
			}
		}
		return ""
	}}},
	{"I10 a message has the same id whenever it is sent", on{evSentMessage: func(w *world, e *event) string {
		for _, g := range w.mail.generations {
			if g.name == e.of.name && g.by.fingerprint == e.of.by.fingerprint && g.id != e.of.id {
				return "has another id than that of " + g.by.name
			}
		}
		return ""
	}}},
	{"I10 only a message that was delivered is done", on{evWrittenMessage: func(_ *world, e *event) string {
		if !pending(e.was) && pending(e.is) {
			return "is of one that was done and is pending again"
		}
		return when(pending(e.was) && !pending(e.is) && (e.of == nil || e.of.arrived == 0),
			"is of one that was never delivered")
	}}},
	{"I10 a relay changes no message of another commit", on{evWrittenMessage: func(w *world, e *event) string {
		return when(e.write.Entry.Owner != e.was.Owner || e.is.Owner != e.was.Owner, "is meant for that of %s",
			w.ownerName(e.write.Entry.Owner))
	}}},
	{"I10 a message is given up for a reason", on{evWrittenMessage: func(_ *world, e *event) string {
		return when(e.is.GivenUp && !e.was.GivenUp && !e.of.hopeless && !e.of.usedUp, "comes after %d tries",
			e.is.Tries)
	}}},
	{"I10 a drain leaves alone what is given up", on{evWrittenMessage: func(_ *world, e *event) string {
		return when(e.write.Op == boxTake && e.was.GivenUp, "is of one that is given up")
	}}},
	{"I10 no more tries are counted than there were", on{evWrittenMessage: func(_ *world, e *event) string {
		return when(e.of != nil && e.is.Tries > e.of.failed+e.of.taken+e.of.doubled,
			"leaves %d tries, and there were not as many", e.is.Tries)
	}}},
	{"I10 a drain tries no message more often than it may", on{evWrittenMessage: func(_ *world, e *event) string {
		return when(e.write.Op == boxTake && e.write.Entry.Tries >= maxTries, "comes although %d tries were read",
			e.write.Entry.Tries)
	}}},
	// It is for tables without drains: what the stream is not told to repeat is lost to
	// them, unless something is written of it.
	{"I10 a stream is told of a message until something is written of it", on{evTold: func(_ *world, e *event) string {
		return when(!e.outcome.Again() && !slices.Contains(e.round.answered, e.of),
			"says that it is %s, and does not know that anything was written of it", e.outcome)
	}}},
	{"I10 a stream does not repeat a message for ever", on{evReported: func(_ *world, e *event) string {
		return when(e.of != nil && e.of.repeated > reports, "has the stream repeat it once more than it may")
	}}},
}

// mailEvent is what happened to a message.
type mailEvent struct {
	// of is the message that it is about, nil if no commit has put it.
	of    *generation
	round *delivery
	// entry is what is delivered, or was reported with outcome.
	entry   entry
	outcome relay.Outcome
	// write has changed was into is.
	write   boxCall
	was, is entry
	// redriven: what was given up was redriven, and drained again.
	redriven bool
}

// checkMail lets the invariants look at what happened to an entry.
func (w *world) checkMail(kind eventKind, e mailEvent) {
	e.of = w.generationOf(e.entry.ID, e.entry.Owner)
	w.check(&event{kind: kind, mailEvent: &e})
}
