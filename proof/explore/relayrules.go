package explore

import (
	"fmt"
	"slices"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/rows"
)

// mailEvent is something that the rules of messages are about.
type mailEvent struct {
	kind mailEventKind
	// of is the message that it is about, nil if no commit has put it.
	of    *generation
	round *round
	// entry is what is delivered, or was reported with outcome.
	entry   relay.Entry[rows.Row]
	outcome relay.Outcome
	// call has changed before into after.
	call          boxCall
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

// mailRules are those of messages, in the order of I10.
var mailRules = []struct {
	name  string
	holds func(w *world, e mailEvent) string
}{
	{"I10 a message leaves only if its commit happened", leavesOnlyIfCommitted},
	{"I10 a message that has left arrives", arrives},
	{"I10 a message has the same id whenever it is sent", hasOneID},
	{"I10 only a message that was delivered is done", doneIsDelivered},
	{"I10 a relay changes no message of another commit", changesItsOwn},
	{"I10 a message is given up for a reason", givenUpForAReason},
	{"I10 a drain leaves alone what is given up", drainLeavesGivenUp},
	{"I10 no more tries are counted than there were", triesHappened},
	{"I10 a drain tries no message more often than it may", drainsTryNoMore},
	{"I10 a stream is told of a message until something is written of it", toldUntilWritten},
	{"I10 a stream does not repeat a message for ever", repeatsEnd},
}

func (w *world) checkMail(e mailEvent) {
	for _, rule := range mailRules {
		if wrong := rule.holds(w, e); wrong != "" && w.broken == nil {
			w.broken = fmt.Errorf("%s: %s", rule.name, wrong) //nolint:err113 // for a reader
		}
	}
}

func leavesOnlyIfCommitted(_ *world, e mailEvent) string {
	if e.kind == evDelivers && e.of == nil {
		return e.round.name + " delivers a message that no commit has put"
	}
	return ""
}

func arrives(w *world, e mailEvent) string {
	if e.kind != evDrained {
		return ""
	}
	for _, g := range w.mail.generations {
		m := w.messageTable().Messages()[g.id]
		switch {
		case g.arrived > 0, g.replaced:
		case m.GivenUp() && m.Owner == g.owner && !e.redriven:
		default:
			return fmt.Sprintf("%s never arrives: %s", w.nameOf(g.id, g.owner), w.describeMessage(m))
		}
	}
	for _, m := range w.messageTable().Messages() {
		if m.Pending() && (!m.GivenUp() || e.redriven) {
			return fmt.Sprintf("%s never becomes done: %s", w.nameOf(m.ID, m.Owner), w.describeMessage(m))
		}
	}
	return ""
}

func hasOneID(w *world, e mailEvent) string {
	if e.kind == evSentMessage {
		for _, g := range w.mail.generations {
			if g.name == e.of.name && g.by.fingerprint == e.of.by.fingerprint && g.id != e.of.id {
				return fmt.Sprintf("%s sends the message %s with another id than %s", e.of.by.name, g.name, g.by.name)
			}
		}
	}
	return ""
}

func doneIsDelivered(w *world, e mailEvent) string {
	switch {
	case e.kind != evWrittenMessage:
		return ""
	case e.before.Pending() && !e.after.Pending() && (e.of == nil || e.of.arrived == 0):
		return w.nameOf(e.before.ID, e.before.Owner) + " is done and was never delivered"
	case !e.before.Pending() && e.after.Pending():
		return w.nameOf(e.before.ID, e.before.Owner) + " was done and is pending again"
	default:
		return ""
	}
}

func changesItsOwn(w *world, e mailEvent) string {
	if e.kind == evWrittenMessage && (e.call.entry.Owner != e.before.Owner || e.after.Owner != e.before.Owner) {
		return fmt.Sprintf("a %s for %s changes %s", e.call.name, w.nameOf(e.call.id, e.call.entry.Owner),
			w.nameOf(e.before.ID, e.before.Owner))
	}
	return ""
}

func givenUpForAReason(w *world, e mailEvent) string {
	if e.kind == evWrittenMessage && e.after.GivenUp() && !e.before.GivenUp() && !e.of.hopeless && !e.of.usedUp {
		return fmt.Sprintf("%s is given up after %d tries", w.nameOf(e.after.ID, e.after.Owner), e.after.Tries)
	}
	return ""
}

func drainLeavesGivenUp(w *world, e mailEvent) string {
	if e.kind == evWrittenMessage && e.call.name == TakeMessage && e.before.GivenUp() {
		return w.nameOf(e.after.ID, e.after.Owner) + " is given up, and a drain takes it"
	}
	return ""
}

func triesHappened(w *world, e mailEvent) string {
	if e.kind == evWrittenMessage && e.of != nil && e.after.Tries > e.of.failed+e.of.taken+e.of.doubled {
		return fmt.Sprintf("%s counts %d tries, and there were not as many",
			w.nameOf(e.after.ID, e.after.Owner), e.after.Tries)
	}
	return ""
}

func drainsTryNoMore(w *world, e mailEvent) string {
	if e.kind == evWrittenMessage && e.call.name == TakeMessage && e.call.entry.Tries >= maxTries {
		return fmt.Sprintf("a drain has read that %s was tried %d times, and takes it",
			w.nameOf(e.after.ID, e.after.Owner), e.call.entry.Tries)
	}
	return ""
}

// toldUntilWritten is for tables without drains: what the stream is not told to repeat is lost to
// them, unless something is written of it.
func toldUntilWritten(w *world, e mailEvent) string {
	if e.kind != evTold || e.outcome.Again() || slices.Contains(e.round.answered, e.of) {
		return ""
	}
	return fmt.Sprintf("%s says that %s is %s, and does not know that anything was written of it", e.round.name,
		w.nameOf(e.entry.ID, e.entry.Owner), e.outcome)
}

func repeatsEnd(w *world, e mailEvent) string {
	if e.kind == evReported && e.of != nil && e.of.repeated > reports {
		return fmt.Sprintf("%s has the stream repeat %s for the %d. time", e.round.name,
			w.nameOf(e.entry.ID, e.entry.Owner), e.of.repeated)
	}
	return ""
}
