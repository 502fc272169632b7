package explore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
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
	entries []relay.Entry[rows.Row]
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
	entry          relay.Entry[rows.Row]
	call           boxCall
}

// boxCall is a call of a box, and the message that carries it.
type boxCall struct {
	name  Call
	id    string
	entry relay.Entry[rows.Row]
	// at is the instant that it writes.
	at time.Time
}

type boxReply struct {
	entry relay.Entry[rows.Row]
	tries int
	done  bool
	err   error
}

// roundGrant lets a round go on.
type roundGrant struct {
	reply    boxReply
	receives Receives
}

type roundKey struct{}

func roundOf(ctx context.Context) *round {
	return ctx.Value(roundKey{}).(*round) //nolint:forcetypeassert // a context without it is a mistake of this package
}

// begin lets a process begin a round: with entries, or a drain. The name of a process that has died
// goes to a new one.
func (w *world) begin(number int, entries []relay.Entry[rows.Row], hurried bool) *round {
	p := w.mail.processes[number]
	if p == nil {
		p = &carrier{}
		p.Relay = relay.New[rows.Row](letterbox{}, deliverInRound, reportOfRound, w.settings())
		w.mail.processes[number] = p
	}
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
		r.world.checkMail(mailEvent{
			kind: evTold, round: r, of: r.world.generationOf(e.ID, e.Owner),
			entry: e, outcome: o,
		})
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
		w.checkMail(mailEvent{kind: evDelivers, round: r, of: w.generationOf(e.ID, e.Owner), entry: e})
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
		r.goOn(roundGrant{reply: boxReply{err: errDied}, receives: Bounces})
	}
}

// endRound is the death of a process in a round.
func (w *world) endRound(r *round) {
	r.end()
	w.mail.processes[r.number] = &carrier{used: true}
	p := w.mail.processes[r.number]
	p.Relay = relay.New[rows.Row](letterbox{}, deliverInRound, reportOfRound, w.settings())
}

// stop waits for what the schedule makes of a point.
func (r *round) stop(at roundStop) roundGrant {
	if r.dead {
		return roundGrant{reply: boxReply{err: errDied}, receives: Bounces}
	}
	r.arrived <- at
	return <-r.resume
}

// deliverInRound is what delivers messages.
func deliverInRound(ctx context.Context, e relay.Entry[rows.Row]) error {
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
func reportOfRound(ctx context.Context, e relay.Entry[rows.Row], o relay.Outcome, err error) {
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
	w.checkMail(mailEvent{kind: evReported, round: r, of: g, entry: e, outcome: o})
}

// letterbox is the box as relays see it: each call waits until the schedule grants it. Lists are
// read at once.
type letterbox struct{}

func (letterbox) ask(ctx context.Context, c boxCall) boxReply {
	return roundOf(ctx).stop(roundStop{call: c}).reply
}

func (b letterbox) Get(ctx context.Context, id string) (relay.Entry[rows.Row], bool, error) {
	got := b.ask(ctx, boxCall{name: ReadMessage, id: id})
	return got.entry, got.done, got.err
}

func (b letterbox) Done(ctx context.Context, e relay.Entry[rows.Row], now time.Time) (bool, error) {
	got := b.ask(ctx, boxCall{name: MarkDone, id: e.ID, entry: e, at: now})
	return got.done, got.err
}

func (b letterbox) Failed(ctx context.Context, e relay.Entry[rows.Row], due time.Time) (tries int,
	pending bool, err error,
) {
	got := b.ask(ctx, boxCall{name: CountFailure, id: e.ID, entry: e, at: due})
	return got.tries, got.done, got.err
}

func (b letterbox) Take(ctx context.Context, e relay.Entry[rows.Row], due time.Time) (bool, error) {
	got := b.ask(ctx, boxCall{name: TakeMessage, id: e.ID, entry: e, at: due})
	return got.done, got.err
}

func (b letterbox) GiveUp(ctx context.Context, e relay.Entry[rows.Row], now time.Time) (bool, error) {
	got := b.ask(ctx, boxCall{name: GiveUpMessage, id: e.ID, entry: e, at: now})
	return got.done, got.err
}

func (letterbox) List(ctx context.Context, shard int, cursor string) (page []relay.Listed, next string, err error) {
	r := roundOf(ctx)
	if r.dead {
		return nil, "", errDied
	}
	page, next, err = r.world.box().List(ctx, shard, cursor)
	for _, listed := range page {
		r.learnList([]string{listed.ID})
	}
	return page, next, err
}

// box is where the messages really are.
func (w *world) box() relay.Box[rows.Row] {
	return w.store.(interface{ Box() relay.Box[rows.Row] }).Box() //nolint:forcetypeassert // a scenario with relays has rows
}

// make makes the call.
func (c boxCall) make(b relay.Box[rows.Row]) (got boxReply) {
	ctx := context.Background()
	switch c.name {
	case ReadMessage:
		got.entry, got.done, got.err = b.Get(ctx, c.id)
	case MarkDone:
		got.done, got.err = b.Done(ctx, c.entry, c.at)
	case CountFailure:
		got.tries, got.done, got.err = b.Failed(ctx, c.entry, c.at)
	case TakeMessage:
		got.done, got.err = b.Take(ctx, c.entry, c.at)
	case GiveUpMessage:
		got.done, got.err = b.GiveUp(ctx, c.entry, c.at)
	default:
		panic("explore: no call of a box: " + c.name)
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
	var got boxReply
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
	case f.err(opGet) != nil:
		got = boxReply{err: errInjected, tries: c.entry.Tries}
	case c.name != ReadMessage:
		r.isAnswered(c, got)
	}
	r.goOn(roundGrant{reply: got})
}

// isAnswered notes that a write was answered.
func (r *round) isAnswered(c boxCall, got boxReply) {
	w := r.world
	w.Saw(fmt.Sprintf("%s: %t", c.name, got.done))
	g := w.generationOf(c.id, c.entry.Owner)
	if g == nil {
		return
	}
	r.answered = append(slices.Clip(r.answered), g)
}

// doubled notes that a count is sent twice, of which nobody knows.
func (w *world) doubled(c boxCall) {
	if g := w.generationOf(c.id, c.entry.Owner); g != nil {
		g.doubled++
	}
}

// applyBox makes a call of a box, for a round or long after it.
func (w *world) applyBox(c boxCall) boxReply {
	before := w.messageTable().Messages()[c.id]
	got := c.make(w.box())
	after := w.messageTable().Messages()[c.id]
	w.Sayf("    %t, %s", got.done, w.describeMessage(after))
	if c.name == ReadMessage || reflect.DeepEqual(before, after) {
		return got
	}
	g := w.generationOf(before.ID, before.Owner)
	if g != nil {
		if c.name == TakeMessage {
			g.taken++
		}
		g.usedUp = g.usedUp || after.Tries >= maxTries
	}
	w.checkMail(mailEvent{kind: evWrittenMessage, of: g, call: c, before: before, after: after})
	return got
}
