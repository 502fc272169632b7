package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/rows"
)

// round is one invocation of a relay, by one of the processes. Its fields belong to whoever runs:
// the schedule, or a goroutine of the round.
type round struct {
	strand

	name    string
	process int
	// entries are what the stream has handed over, nil in a drain.
	entries []rows.Message
	hurried bool
	dead    bool // to the world
	// entry is what it delivers, and receives how that ends; call what it asks, and got the reply.
	entry    rows.Message
	receives Receives
	call     rows.BoxCall
	got      rows.BoxReply
	// answered are the messages of which a write of this round was answered, whatever the answer
	// is.
	answered []*generation
	// history is a digest of what it has learned.
	history uint64
}

// begin lets a process begin a round: with entries, or a drain.
func (w *world) begin(process int, entries []rows.Message, hurried bool) *round {
	w.mail.begun = max(w.mail.begun, process+1)
	w.mail.counted++
	r := &round{strand: w.newStrand(nil), process: process, entries: entries, hurried: hurried}
	r.name = fmt.Sprintf("round %d of relay %d", w.mail.counted, process+1)
	w.mail.rounds = append(slices.Clip(w.mail.rounds), r)
	w.Sayf("%s: %s begins: %s", w.clockText(), r.name, r.about())
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID, w.ownerName(e.Owner))
	}
	r.learnList(ids)
	go r.run()
	w.awaitRound(r)
	return r
}

func (r *round) about() string {
	if r.entries == nil {
		return "a drain"
	}
	parts := []string{"the stream hands over"}
	for _, e := range r.entries {
		parts = append(parts, r.world.nameOf(e.ID, e.Owner))
	}
	if r.hurried {
		parts = append(parts, "and there is no time")
	}
	return strings.Join(parts, " ")
}

// run is the goroutine of a round. It may start more, of which one runs at a time.
func (r *round) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.hurried {
		cancel()
	}
	carrier := relay.New(rows.Box(r.ask), r.deliver, r.reported, r.world.settings())
	if r.entries == nil {
		_ = carrier.Drain(ctx) // an error is one of lists, which have none here
	} else {
		r.told(carrier.Stream(ctx, r.entries))
	}
	r.world.arrived <- arrival{strand: &r.strand, at: atEnd}
}

// told takes what the stream is told of each message that it has handed over.
func (r *round) told(outcomes []relay.Outcome) {
	for n, o := range outcomes {
		if r.dead {
			return
		}
		e := r.entries[n]
		r.world.checkMail(evTold, mailEvent{round: r, entry: e, outcome: o})
	}
}

// awaitRound waits until a round stops.
func (w *world) awaitRound(r *round) {
	w.settle() // also what goes on beside it
	switch {
	case r.at == atEnd:
		w.mail.rounds = slices.DeleteFunc(slices.Clone(w.mail.rounds), func(x *round) bool { return x == r })
	case r.at == atDelivery && !r.dead:
		w.Sayf("  %s delivers %s", r.name, w.nameOf(r.entry.ID, r.entry.Owner))
		w.checkMail(evDelivers, mailEvent{round: r, entry: r.entry})
	}
}

// goOn gives the round its turn, with a reply or the end of its delivery.
func (r *round) goOn(got rows.BoxReply, how Receives) {
	r.got, r.receives = got, how
	r.learn()
	r.at = away
	r.resume <- grant{}
	r.world.awaitRound(r)
}

// end is the death of a process in a round, which runs to its end, dead to the world. Another one
// takes its place.
func (r *round) end() {
	r.dead = true
	for r.at != atEnd {
		r.goOn(rows.BoxReply{Err: errDied}, Bounces)
	}
}

// stop waits for what the schedule makes of a point.
func (r *round) stop(at point) {
	if !r.dead {
		r.wait(at)
	}
}

// deliver is what delivers messages.
func (r *round) deliver(_ context.Context, e rows.Message) error {
	r.entry = e
	r.stop(atDelivery)
	return r.receives.err()
}

// receive ends a delivery.
func (w *world) receive(r *round, how Receives) {
	e := r.entry
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
	r.goOn(rows.BoxReply{}, how)
}

// reported takes what became of a message in a round.
func (r *round) reported(_ context.Context, e rows.Message, o relay.Outcome, err error) {
	if r.dead {
		return
	}
	w := r.world
	g := w.generationOf(e.ID, e.Owner)
	w.Saw("message: " + string(o))
	w.Sayf("  %s: %s is %s, %v", r.name, w.nameOf(e.ID, e.Owner), o, err)
	if g != nil && r.entries != nil && o == relay.Failed {
		g.repeated++
	}
	w.checkMail(evReported, mailEvent{round: r, entry: e, outcome: o})
}

// ask makes a call of the box as relays see it: it waits until the schedule grants it. Lists are
// read at once.
func (r *round) ask(c rows.BoxCall) rows.BoxReply {
	if c.Op != rows.List || r.dead {
		r.call = c
		r.stop(atBox)
		return r.got
	}
	got := r.world.box(c)
	for _, listed := range got.Page {
		r.learnList([]string{listed.ID})
	}
	return got
}

// grantBox lets a call of a box happen, or its fault.
func (w *world) grantBox(r *round, f Fault) {
	c := r.call
	if f != None {
		w.mail.MaxFaults--
		w.Saw("fault of a relay: " + f.String())
	}
	w.Sayf("%s:  %s: %s %s", w.clockText(), r.name, w.describeBoxCall(c), f)
	var got rows.BoxReply
	if f.applied() {
		got = w.applyBox(c)
	}
	if f == Twice {
		w.doubled(c)
		got = w.applyBox(c)
	}
	if f.leavesMessage() {
		if f == Repeat {
			w.doubled(c)
		}
		w.mail.late = append(slices.Clip(w.mail.late), c)
	}
	switch {
	case f.kills():
		w.Saw("relay dies")
		r.end()
		return
	case f.err(opGet) != nil:
		got = rows.BoxReply{Err: errInjected, Tries: c.Entry.Tries}
	case c.Op != rows.Read:
		w.Saw(fmt.Sprintf("%s: %t", c.Op, got.Done))
		if g := w.generationOf(c.Entry.ID, c.Entry.Owner); g != nil {
			r.answered = append(slices.Clip(r.answered), g)
		}
	}
	r.goOn(got, Arrives)
}

// box makes a call of a relay.
func (w *world) box(c rows.BoxCall) rows.BoxReply {
	if w.PlantBox != nil {
		return w.PlantBox(w.table, c)
	}
	return w.table.Answer(c)
}

// doubled notes that a count is sent twice, of which nobody knows.
func (w *world) doubled(c rows.BoxCall) {
	if g := w.generationOf(c.Entry.ID, c.Entry.Owner); g != nil {
		g.doubled++
	}
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
