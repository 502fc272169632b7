package explore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/proof/rows"
)

// round is one invocation of a relay. Its fields belong to whoever runs: the schedule, or a
// goroutine of the round.
type round struct {
	world   *world
	name    string
	process *carrier
	// number is that of the process.
	number int
	// entries are what the stream has handed over, nil in a drain.
	entries []rows.Entry
	hurried bool
	// at is where it waits for the schedule, unless it is over.
	at      roundStop
	over    bool
	arrived chan roundStop
	resume  chan roundGrant
	dead    bool // to the world
	// answered are the messages of which a write of this round was answered, whatever the answer
	// is.
	answered []*generation
	// history is a digest of what it has learned.
	history uint64
}

// roundStop is a point at which a round waits.
type roundStop struct {
	// delivers: it delivers entry. Otherwise it makes a call, unless it is over.
	delivers, over bool
	entry          rows.Entry
	call           rows.BoxCall
}

// roundGrant lets a round go on.
type roundGrant struct {
	reply    rows.BoxReply
	receives Receives
}

type roundKey struct{}

func roundOf(ctx context.Context) *round {
	return ctx.Value(roundKey{}).(*round) //nolint:forcetypeassert // a context without it is a mistake of this package
}

// begin lets a process begin a round: with entries, or a drain. The name of a process that has died
// goes to a new one.
func (w *world) begin(number int, entries []rows.Entry, hurried bool) *round {
	if w.mail.processes[number] == nil {
		w.mail.processes[number] = w.newCarrier()
	}
	p := w.mail.processes[number]
	p.used = true
	w.mail.counted++
	r := &round{
		world: w, process: p, number: number, entries: entries, hurried: hurried,
		arrived: make(chan roundStop, 1), resume: make(chan roundGrant),
	}
	r.name = fmt.Sprintf("round %d of relay %d", w.mail.counted, number+1)
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
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), roundKey{}, r))
	defer cancel()
	if r.hurried {
		cancel()
	}
	if r.entries == nil {
		_ = r.process.Drain(ctx) // an error is one of lists, which have none here
	} else {
		r.told(r.process.Stream(ctx, r.entries))
	}
	r.arrived <- roundStop{over: true}
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
	synctest.Wait() // also for what goes on beside it
	r.at = <-r.arrived
	if r.at.over {
		r.over = true
		w.mail.rounds = slices.DeleteFunc(slices.Clone(w.mail.rounds), func(x *round) bool { return x == r })
		return
	}
	if r.at.delivers && !r.dead {
		e := r.at.entry
		w.Sayf("  %s delivers %s", r.name, w.nameOf(e.ID, e.Owner))
		w.checkMail(evDelivers, mailEvent{round: r, entry: e})
	}
}

// goOn gives the round its turn.
func (r *round) goOn(g roundGrant) {
	r.learn(g)
	r.resume <- g
	r.world.awaitRound(r)
}

// end makes a round dead to the world and lets it run to its end.
func (r *round) end() {
	r.dead = true
	for !r.over {
		r.goOn(roundGrant{reply: rows.BoxReply{Err: errDied}, receives: Bounces})
	}
}

// endRound is the death of a process in a round. Another one takes its place.
func (w *world) endRound(r *round) {
	r.end()
	w.mail.processes[r.number] = w.newCarrier()
	w.mail.processes[r.number].used = true
}

func (w *world) newCarrier() *carrier {
	return &carrier{Relay: relay.New[rows.Row](rows.Box(atLetterbox), deliverInRound, reportOfRound, w.settings())}
}

// stop waits for what the schedule makes of a point.
func (r *round) stop(at roundStop) roundGrant {
	if r.dead {
		return roundGrant{reply: rows.BoxReply{Err: errDied}, receives: Bounces}
	}
	r.arrived <- at
	return <-r.resume
}

// deliverInRound is what delivers messages.
func deliverInRound(ctx context.Context, e rows.Entry) error {
	return roundOf(ctx).stop(roundStop{delivers: true, entry: e}).receives.err()
}

// receive ends a delivery.
func (w *world) receive(r *round, how Receives) {
	e := r.at.entry
	w.Sayf("    %s %s", w.nameOf(e.ID, e.Owner), how)
	w.Saw("message " + how.String())
	if g := w.generationOf(e.ID, e.Owner); g != nil {
		if how == Arrives {
			g.arrived++
		} else {
			g.failed++
		}
		g.hopeless = g.hopeless || how == BouncesForGood
	}
	r.goOn(roundGrant{receives: how})
}

// reportOfRound takes what became of a message in a round.
func reportOfRound(ctx context.Context, e rows.Entry, o relay.Outcome, err error) {
	r := roundOf(ctx)
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

// atLetterbox makes a call of the box as relays see it: it waits until the schedule grants it.
// Lists are read at once.
func atLetterbox(ctx context.Context, c rows.BoxCall) rows.BoxReply {
	r := roundOf(ctx)
	if c.Op != rows.List || r.dead {
		return r.stop(roundStop{call: c}).reply
	}
	got := r.world.box(c)
	for _, listed := range got.Page {
		r.learnList([]string{listed.ID})
	}
	return got
}

// grantBox lets a call of a box happen, or its fault.
func (w *world) grantBox(r *round, f Fault) {
	c := r.at.call
	if f != None {
		w.mail.faults--
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
		w.endRound(r)
		return
	case f.err(calls.Get) != nil:
		got = rows.BoxReply{Err: errInjected, Tries: c.Entry.Tries}
	case c.Op != rows.Read:
		w.Saw(fmt.Sprintf("%s: %t", c.Op, got.Done))
		if g := w.generationOf(c.Entry.ID, c.Entry.Owner); g != nil {
			r.answered = append(slices.Clip(r.answered), g)
		}
	}
	r.goOn(roundGrant{reply: got})
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
	before := w.table.Messages()[id]
	got := w.box(c)
	after := w.table.Messages()[id]
	w.Sayf("    %t, %s", got.Done, w.describeMessage(after))
	if c.Op == rows.Read || reflect.DeepEqual(before, after) {
		return got
	}
	g := w.generationOf(before.ID, before.Owner)
	if g != nil {
		if c.Op == rows.Take {
			g.taken++
		}
		g.usedUp = g.usedUp || after.Tries >= maxTries
	}
	w.checkMail(evWrittenMessage, mailEvent{entry: rows.Entry{ID: before.ID, Owner: before.Owner}, write: c, was: before, is: after})
	return got
}
