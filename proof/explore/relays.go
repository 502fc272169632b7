package explore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
)

// Relays are those of a scenario, and what may happen to them. The zero value is none.
type Relays struct {
	// Processes is how many there are that deliver messages. Each does so in one round at a time,
	// which is an invocation.
	Processes int
	// Handovers is how often the stream hands over what was written, Drains how often somebody
	// drains, Redrives how often somebody redrives a message that is given up, all at most.
	Handovers, Drains, Redrives int
	// Batches: the stream hands over everything from some write on. Without it a batch is one
	// message.
	Batches bool
	// Receives are how the delivery of a message may end.
	Receives []Receives
	// Faults are what may happen to the calls of a relay, at most MaxFaults times in a schedule:
	// once if that is 0.
	// With one that kills the process, it may die while it delivers, too.
	Faults    []Fault
	MaxFaults int
	// DueSteps is how often the clock may move to where a message is due.
	DueSteps int
	// Hurried: a round may have no time left when it begins.
	Hurried bool
}

// Receives is how a delivery of a message ends.
type Receives string

// The ends of a delivery. A panic is one that bounces: package outbox makes an error of it.
const (
	Arrives        Receives = "arrives"
	Bounces        Receives = "bounces"
	BouncesForGood Receives = "bounces for good"
)

var errBounced = errors.New("the receiver does not take it")

// err is what the relay gets.
func (r Receives) err() error {
	switch r {
	case Arrives:
		return nil
	case BouncesForGood:
		return &relay.PermanentError{Err: errBounced}
	case Bounces:
	}
	return errBounced
}

// What a relay of the explorer does earlier than one of package outbox, so that it is done in short
// schedules.
const (
	reports  = 1
	maxTries = 3
)

// mail is what is under way between the messages of a table and who receives them.
type mail struct {
	// begun is how many processes have begun a round, in the order of their numbers.
	begun  int
	rounds []*delivery
	// late are writes that are still on their way.
	late []boxCall
	// generations are the messages that commits have put, in their order.
	generations []*generation
}

// generation is a message that a commit has put. Another commit may put one with the same id.
type generation struct {
	by   *delivery
	name string
	// id and owner are those that it was put with.
	id, owner string
	// arrived and failed count its deliveries that have ended, taken how often a drain has taken
	// it, doubled the writes of counts that nobody has asked for.
	arrived, failed, taken, doubled int
	// repeated is how often the stream was told to repeat it because its delivery had failed, since
	// it was redriven.
	repeated int
	// hopeless: a delivery has failed for good. usedUp: it was tried as often as it may be, since
	// it was redriven.
	hopeless, usedUp bool
	// replaced: a later commit has put another one over it.
	replaced bool
}

// addressed returns writes with the messages as package outbox puts them.
func (d *delivery) addressed(ctx context.Context, writes rows.Writes) rows.Writes {
	claim, _ := execution.From(ctx)
	writes = slices.Clone(writes)
	for n, one := range writes {
		if one.Sends != nil {
			writes[n].Sends = entry{ID: claim.DerivedKey(one.Key), Owner: claim.Owner, Due: d.clock()}
		}
	}
	return writes
}

// noteSent notes the messages of a commit that was applied.
func (w *world) noteSent(by *delivery, writes rows.Writes) {
	for _, one := range writes {
		sent, is := one.Sends.(entry)
		if !is {
			continue
		}
		g := &generation{by: by, name: one.Key, id: sent.ID, owner: sent.Owner}
		w.check(&event{kind: evSentMessage, mailEvent: &mailEvent{of: g}})
		for _, earlier := range w.mail.generations {
			if earlier.id == g.id && !earlier.replaced {
				earlier.replaced = true
				w.Saw("message replaced")
			}
		}
		w.mail.generations = append(slices.Clip(w.mail.generations), g)
		w.Saw("message sent")
	}
}

// generationOf is the message that a commit of an owner has put, nil if there is none.
func (w *world) generationOf(id, owner string) *generation {
	for _, g := range w.mail.generations {
		if g.id == id && g.owner == owner {
			return g
		}
	}
	return nil
}

// handed are the images that the filter of the stream lets through.
func (w *world) handed() []entry {
	return slices.DeleteFunc(slices.Clone(w.outbox.images),
		func(m entry) bool { return !pending(m) || m.Tries > 0 })
}

// mayRelay makes choices of what is done about messages. It reports whether a round is under way.
func (w *world) mayRelay() bool {
	busy := map[int]bool{} // processes
	for _, r := range w.mail.rounds {
		if r.alive() {
			busy[r.client.Process] = true
			w.mayGoOn(r)
		}
	}
	for n := range w.mail.late {
		w.may(func() { w.writeLate(n) })
	}
	for n := range min(w.mail.begun+1, w.Relays.Processes) { // those that have not begun are alike
		if !busy[n] {
			w.mayBegin(n)
		}
	}
	givenUp, due := w.waiting()
	if w.Relays.Redrives > 0 {
		for _, id := range givenUp {
			w.may(func() {
				w.Relays.Redrives--
				w.redrive(id)
			})
		}
	}
	if w.Relays.DueSteps > 0 && !due.IsZero() {
		w.may(func() {
			w.Relays.DueSteps--
			w.now = due
			w.Sayf("%s: a message is due", w.clockText())
		})
	}
	return len(busy) > 0
}

// mayBegin makes choices of the rounds that a process may begin.
func (w *world) mayBegin(n int) {
	handed := w.handed()
	for image := range handed {
		images := handed[image:]
		if !w.Relays.Batches {
			images = images[:1]
		}
		for _, hurried := range []bool{false, true} {
			if w.Relays.Handovers > 0 && (w.Relays.Hurried || !hurried) {
				w.may(func() {
					w.Relays.Handovers--
					w.begin(n, images, hurried)
				})
			}
		}
	}
	if w.Relays.Drains > 0 && len(w.mail.generations) > 0 {
		w.may(func() {
			w.Relays.Drains--
			w.begin(n, nil, false)
		})
	}
}

// waiting are the messages that are given up, and the next instant at which another one is due.
func (w *world) waiting() (givenUp []string, due time.Time) {
	for _, g := range w.mail.generations {
		m := w.outbox.messages[g.id]
		switch {
		case m.Owner != g.owner || !pending(m):
		case m.GivenUp:
			givenUp = append(givenUp, g.id)
		case m.Due.After(w.now) && (due.IsZero() || m.Due.Before(due)):
			due = m.Due
		}
	}
	return givenUp, due
}

// writeLate lets a relay's write of a message arrive late.
func (w *world) writeLate(n int) {
	c := w.mail.late[n]
	w.mail.late = slices.Delete(slices.Clone(w.mail.late), n, n+1)
	w.Sayf("  late: %s", w.describeBoxCall(c))
	became := " refused"
	if w.applyBox(c).Done {
		became = " applied"
	}
	w.Saw("late " + string(c.Op) + became)
}

func (w *world) redrive(id string) {
	m := w.outbox.messages[id]
	w.outbox.redrive(m, w.now)
	g := w.generationOf(m.ID, m.Owner)
	g.repeated, g.usedUp = 0, false
	w.Saw("message redriven")
	w.Sayf("%s: somebody redrives %s", w.clockText(), w.nameOf(m.ID, m.Owner))
}

// lastRounds drains the messages with a receiver that takes everything, in a process of its own,
// and redrives what is given up.
func (w *world) lastRounds() {
	if w.Relays.Processes == 0 {
		return
	}
	for _, redriven := range []bool{false, true} {
		for range 2 { // what was tried too often the first one gives up
			w.now = w.now.Add(2 * maxTries * time.Minute)
			w.finish(w.begin(w.Relays.Processes, nil, false))
		}
		w.checkMail(evDrained, mailEvent{redriven: redriven})
		givenUp, _ := w.waiting()
		for _, id := range givenUp {
			w.redrive(id)
		}
	}
}
