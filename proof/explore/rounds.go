package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
)

// round is one invocation of a relay. A delivery is one if it has this.
type round struct {
	// entries are what the stream has handed over, nil in a drain.
	entries []entry
	hurried bool
	// entry is what it delivers, boxCall what it asks.
	entry   entry
	boxCall boxCall
	// answered are the messages of which a write of this round was answered, whatever the answer
	// is.
	answered []*generation
}

// begin lets a process begin a round: with entries, or a drain.
func (w *world) begin(process int, entries []entry, hurried bool) *delivery {
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
	carrier := relay.Relay[struct{}]{
		Box: boxOf(d.askBox), Deliver: d.deliver, Report: d.reported,
		Concurrency: 1, Timeout: timeout, Reports: reports, MaxTries: maxTries,
		Pause: func(tries int) time.Duration { return time.Duration(tries) * time.Minute },
		Now:   func() time.Time { return d.world.now },
	}
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
func (d *delivery) deliver(_ context.Context, e entry) error {
	if d.dead {
		return errDied
	}
	d.entry = e
	return d.wait(atDelivery).receives.err()
}

// received notes the end of a delivery.
func (w *world) received(e entry, how Receives) {
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
func (d *delivery) reported(e entry, o relay.Outcome, err error) {
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
func (d *delivery) askBox(c boxCall) boxReply {
	switch {
	case d.dead:
		return boxReply{Err: errDied}
	case c.Op != boxList:
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
	var got boxReply
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
		got = boxReply{Err: errInjected, Tries: c.Entry.Tries}
	case c.Op != boxGet:
		w.Saw(fmt.Sprintf("%s: %t", c.Op, got.Done))
		if g != nil {
			d.answered = append(d.answered, g)
		}
	}
	w.goOn(&d.strand, grant{box: got})
}

// box makes a call of a relay.
func (w *world) box(c boxCall) boxReply {
	if w.PlantBox != nil {
		return w.PlantBox(&w.outbox, c)
	}
	return w.outbox.answer(c)
}

// applyBox makes a call of a box, for a round or long after it.
func (w *world) applyBox(c boxCall) boxReply {
	id := c.Entry.ID
	before := w.outbox.messages[id]
	got := w.box(c)
	after := w.outbox.messages[id]
	w.Sayf("    %t, %s", got.Done, w.describeMessage(after))
	if c.Op == boxGet || before == after {
		return got
	}
	g := w.generationOf(before.ID, before.Owner)
	if g != nil {
		if c.Op == boxTake {
			g.taken++
		}
		g.usedUp = g.usedUp || after.Tries >= maxTries
	}
	w.checkMail(evWrittenMessage, mailEvent{
		entry: entry{ID: before.ID, Owner: before.Owner}, write: c,
		was: before, is: after,
	})
	return got
}

// mailDigest takes up the messages and all that relays may still do.
func (w *world) mailDigest(d *digest) {
	if w.Relays.Processes == 0 {
		return
	}
	m := &w.mail
	d.Add(w.Relays.Handovers, w.Relays.Drains, w.Relays.Redrives, w.Relays.MaxFaults, w.Relays.DueSteps)
	all := w.outbox.messages
	for _, id := range slices.Sorted(maps.Keys(all)) {
		w.entry(d, all[id])
	}
	for _, image := range w.handed() {
		d.Add("image")
		w.entry(d, image)
	}
	for _, c := range m.late {
		d.Add("late")
		w.boxCall(d, c)
	}
	for _, g := range m.generations {
		d.Add(g.id, w.ownerName(g.owner), w.uncounted(g), g.repeated, g.arrived > 0, g.hopeless, g.usedUp, g.replaced)
	}
	d.Add(m.begun)
	for _, r := range m.rounds {
		if r.alive() {
			d.Add(r.client.Process, r.history, r.at)
			w.entry(d, r.entry)
			w.boxCall(d, r.boxCall)
		}
	}
}

// uncounted is how many tries there were of a message that are not counted. More than may still
// come do not matter.
func (w *world) uncounted(g *generation) int {
	m := w.outbox.messages[g.id]
	if m.Owner != g.owner || !pending(m) {
		return 0
	}
	all := w.given.Relays
	return min(g.failed+g.taken+g.doubled-m.Tries, all.Handovers+all.Drains+all.MaxFaults)
}

func (w *world) boxCall(d *digest, c boxCall) {
	d.Add(c.Op, c.At)
	w.entry(d, c.Entry)
}

func (w *world) entry(d *digest, e entry) {
	d.Add(e.ID, w.ownerName(e.Owner), e.Due, e.Tries, e.GivenUp)
}

// sends takes up the messages in writes.
func sends(d *digest, writes rows.Writes) {
	for _, one := range writes {
		if sent, is := one.Sends.(entry); is {
			d.Add(sent.ID, sent.Due)
		}
	}
}

// nameOf is a message in a story.
func (w *world) nameOf(id, owner string) string {
	for _, g := range w.mail.generations {
		if g.id == id {
			return fmt.Sprintf("%q of %s", g.name, w.ownerName(owner))
		}
	}
	return "a message of " + w.ownerName(owner)
}

func (w *world) describeBoxCall(c boxCall) string {
	if c.Op == boxGet {
		return string(c.Op)
	}
	return fmt.Sprintf("%s of %s", c.Op, w.nameOf(c.Entry.ID, c.Entry.Owner))
}

func (w *world) describeMessage(m entry) string {
	switch {
	case m.ID == "":
		return "no message"
	case m.GivenUp:
		return fmt.Sprintf("that of %s is given up after %d tries", w.ownerName(m.Owner), m.Tries)
	case pending(m):
		return fmt.Sprintf("that of %s is due at %s after %d tries", w.ownerName(m.Owner), w.text(m.Due), m.Tries)
	default:
		return fmt.Sprintf("that of %s is done", w.ownerName(m.Owner))
	}
}
