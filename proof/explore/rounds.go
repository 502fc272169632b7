package explore

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-idempotent/idempotent/internal/dev/rows"
	"github.com/go-idempotent/idempotent/internal/relay"
)

// round is one invocation of a relay. A delivery is one if it has this.
type round struct {
	// entries are what the stream has handed over, nil in a drain.
	entries []rows.Message
	hurried bool
	// entry is what it delivers, boxCall what it asks.
	entry   rows.Message
	boxCall rows.BoxCall
	// answered are the messages of which a write of this round was answered, whatever the answer
	// is.
	answered []*generation
}

// begin lets a process begin a round: with entries, or a drain.
func (w *world) begin(process int, entries []rows.Message, hurried bool) *delivery {
	w.mail.begun = max(w.mail.begun, process+1)
	d := &delivery{
		client: &client{Client: Client{Process: process}}, round: &round{entries: entries, hurried: hurried},
		name: fmt.Sprintf("round %d of relay %d", len(w.mail.rounds)+1, process+1),
	}
	d.strand, d.beat = w.newStrand(d), w.newStrand(d)
	w.mail.rounds = append(w.mail.rounds, d)
	about := d.about()
	w.Sayf("%s: %s begins: %s", w.clockText(), d.name, about)
	d.learnOf(w.now, about)
	go d.relay()
	w.rest(d)
	w.arrive(d)
	return d
}

func (d *delivery) about() string {
	if d.entries == nil {
		return "a drain"
	}
	parts := []string{"the stream hands over"}
	for _, e := range d.entries {
		parts = append(parts, d.world.nameOf(e.ID, e.Owner))
	}
	if d.hurried {
		parts = append(parts, "and there is no time")
	}
	return strings.Join(parts, " ")
}

// relay is the goroutine of a round. It may start more, of which one runs at a time.
func (d *delivery) relay() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if d.hurried {
		cancel()
	}
	carrier := relay.New(rows.Box(d.askBox), d.deliver, d.reported, d.world.settings())
	if d.entries == nil {
		_ = carrier.Drain(ctx) // an error is one of lists, which have none here
	} else {
		d.told(carrier.Stream(ctx, d.entries))
	}
	d.world.arrived <- arrival{strand: &d.strand, at: atEnd}
}

// told takes what the stream is told of each message that it has handed over.
func (d *delivery) told(outcomes []relay.Outcome) {
	for n, o := range outcomes {
		if d.dead {
			return
		}
		d.world.checkMail(evTold, mailEvent{round: d, entry: d.entries[n], outcome: o})
	}
}

// deliver is what delivers messages.
func (d *delivery) deliver(_ context.Context, e rows.Message) error {
	if d.dead {
		return errDied
	}
	d.entry = e
	return d.wait(atDelivery).receives.err()
}

// received notes the end of a delivery.
func (w *world) received(e rows.Message, how Receives) {
	w.Sayf("    %s %s", w.nameOf(e.ID, e.Owner), how)
	w.Saw("message " + string(how))
	if g := w.generationOf(e.ID, e.Owner); g != nil {
		if how == Arrives {
			g.arrived++
		} else {
			g.failed++
		}
		g.hopeless = g.hopeless || how == BouncesForGood
	}
}

// reported takes what became of a message in a round.
func (d *delivery) reported(_ context.Context, e rows.Message, o relay.Outcome, err error) {
	if d.dead {
		return
	}
	w := d.world
	w.Saw("message: " + string(o))
	w.Sayf("  %s: %s is %s, %v", d.name, w.nameOf(e.ID, e.Owner), o, err)
	if g := w.generationOf(e.ID, e.Owner); g != nil && d.entries != nil && o == relay.Failed {
		g.repeated++
	}
	w.checkMail(evReported, mailEvent{round: d, entry: e, outcome: o})
}

// askBox makes a call of the box as relays see it: it waits until the schedule grants it. Lists are
// read at once.
func (d *delivery) askBox(c rows.BoxCall) rows.BoxReply {
	switch {
	case d.dead:
		return rows.BoxReply{Err: errDied}
	case c.Op != rows.List:
		d.boxCall = c
		return d.wait(atCall).box
	}
	got := d.world.box(c)
	for _, listed := range got.Page {
		d.learnOf(d.world.now, listed.ID)
	}
	return got
}

// grantBox lets a call of a box happen, or its fault.
func (w *world) grantBox(d *delivery, f Fault) {
	c := d.boxCall
	w.befalls(d, f)
	w.Sayf("%s:  %s: %s %s", w.clockText(), d.name, w.describeBoxCall(c), f)
	var got rows.BoxReply
	if f.applied() {
		got = w.applyBox(c)
	}
	g := w.generationOf(c.Entry.ID, c.Entry.Owner)
	if g != nil && (f == Twice || f == Repeat) {
		g.doubled++
	}
	if f == Twice {
		got = w.applyBox(c)
	}
	if f.leavesMessage() {
		w.mail.late = append(w.mail.late, c)
	}
	switch {
	case f.kills():
		w.Saw("relay dies")
		w.die(d)
		return
	case f.err(opGet) != nil:
		got = rows.BoxReply{Err: errInjected, Tries: c.Entry.Tries}
	case c.Op != rows.Read:
		w.Saw(fmt.Sprintf("%s: %t", c.Op, got.Done))
		if g != nil {
			d.answered = append(d.answered, g)
		}
	}
	w.goOn(&d.strand, grant{box: got})
}

// box makes a call of a relay.
func (w *world) box(c rows.BoxCall) rows.BoxReply {
	if w.PlantBox != nil {
		return w.PlantBox(w.table, c)
	}
	return w.table.Answer(c)
}

// applyBox makes a call of a box, for a round or long after it.
func (w *world) applyBox(c rows.BoxCall) rows.BoxReply {
	id := c.Entry.ID
	before := w.table.Messages[id]
	got := w.box(c)
	after := w.table.Messages[id]
	w.Sayf("    %t, %s", got.Done, w.describeMessage(after))
	if c.Op == rows.Read || before == after {
		return got
	}
	g := w.generationOf(before.ID, before.Owner)
	if g != nil {
		if c.Op == rows.Take {
			g.taken++
		}
		g.usedUp = g.usedUp || after.Tries >= maxTries
	}
	w.checkMail(evWrittenMessage, mailEvent{
		entry: rows.Message{ID: before.ID, Owner: before.Owner}, write: c,
		was: before, is: after,
	})
	return got
}
