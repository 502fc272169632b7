package explore

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
)

// state is the digest of all that the rest of a schedule depends on. What a delivery will do
// depends on what it has learned; what the invariants will say, on the chronicle.
func (w *world) state() uint64 {
	d := newDigest(w.origin, w.now, w.TimeSteps, w.MaxFaults, w.LeaseSteps, w.ExpirySteps, w.DueSteps, w.Freezes,
		w.expired, w.unknown, w.unsettled, w.stopped, w.lastLease(), len(w.messages))
	if held := w.held(); held != nil {
		w.record(d, *held)
	}
	for _, m := range w.messages {
		d.Add(m.by.name)
		w.message(d, m.call)
	}
	for _, c := range w.clients {
		d.Add(len(c.sent))
		p := w.processOf(c)
		d.Add(p.learned, p.history)
		for _, x := range c.sent {
			w.delivery(d, x)
		}
	}
	w.operatorState(d)
	w.stepDigest(d)
	w.rowDigest(d)
	w.mailDigest(d)
	for _, c := range w.commits {
		d.Add(c.by.name, c.answer, c.expiry, c.to == 0)
	}
	return d.Sum64()
}

func (w *world) delivery(d *digest, x *delivery) {
	alive := x.alive()
	stepsOf(d, x)
	commitsOf(d, x)
	askingOf(d, x)
	d.Add(x.unknownUntil, alive, x.began, x.released, x.returned, x.resolved, x.overruled, x.frozen, x.wasFrozen)
	writes := alive || slices.ContainsFunc(w.messages, func(m message) bool { return m.by == x })
	if writes || x.began && !x.released { // else nobody asks any more until when it was protected
		d.Add(x.lease)
	}
	if writes {
		d.Add(x.claimed, x.undone, x.restored, x.conflicts, x.refused)
		if x.took != nil {
			w.record(d, *x.took)
		}
	}
	if alive {
		for _, s := range x.strands() {
			d.Add(s.at, s.about, s.slow)
			if w.Timed && s.at == atCall {
				d.Add(s.asked)
				w.message(d, s.called)
			}
		}
		d.Add(x.failedRenewals, x.ending, expired(x.shown, x.shownAt))
		if x.hctx != nil {
			d.Add(x.hctx.Err() != nil, leaseLost(x))
		}
		d.Add(x.history)
		w.record(d, x.shown)
		d.Add(x.process.learned, x.process.history)
		for _, c := range w.commits {
			d.Add(c.to == 0 || c.to > x.from)
		}
		return
	}
	if !x.dead {
		d.Add(x.answer(), x.err == nil, x.panicked == nil)
	}
}

// learn adds what a delivery is told to its history. Its clock is part of that: it looks at it
// whenever it runs.
func (w *world) learn(s *strand, g grant) {
	x := s.of
	d := newDigest(w.origin, x.history, w.now, cmp.Or(g.ending, Succeeds), cmp.Or(g.verdict, StillUnknown),
		cmp.Or(g.effect, Happens),
		max(0, slices.Index(x.branches, s)), g.fails, g.reply.Done, g.reply.Err != nil,
		errors.Is(g.reply.Err, store.ErrWritesRefused))
	if se, ok := errors.AsType[*store.Error](g.reply.Err); ok {
		d.Add(se.Kind)
	}
	w.record(d, g.reply.Held)
	d.Add(g.receives, g.box.Done, g.box.Err != nil, g.box.Tries)
	w.entry(d, g.box.Entry)
	x.history = d.Sum64()
}

// learnOf adds to the history of a delivery what it learned from nobody but the clock.
func (d *delivery) learnOf(now time.Time, what string) {
	d.history = newDigest(d.world.origin, d.history, now, what).Sum64()
}

func (w *world) message(d *digest, c call) {
	writes, _ := c.Writes.(rows.Writes)
	d.Add(c.Op, c.Now, c.within, c.try, len(writes))
	w.record(d, c.Seen)
	w.record(d, c.Next)
}

func (w *world) record(d *digest, r store.Record) {
	d.Add(r.Seal == "", r.Sealed(r.Result), r.Unmarked, r.Status, w.ownerName(r.Owner), r.Fingerprint,
		string(r.Result), w.nameOfWrites(r.Seal), r.Reason, strings.Join(r.StepNames, " "), r.SettledBy, r.Attention,
		r.Lease, r.Expiry, r.CreatedAt, r.SettledAt, r.AttentionAt, r.Attempt, r.StepWrites, r.Tries)
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		s := r.Steps[name]
		d.Add(name, s.Kind, w.ownerName(s.Owner()), string(s.Result))
	}
}

// ownerName is the delivery whose token it is: tokens are random, and the same schedule has others
// each time.
func (w *world) ownerName(token string) string {
	for _, d := range w.deliveries {
		switch {
		case d.owner == token && token != "":
			return d.name
		case d.uses(token):
			return d.name + ", before"
		}
	}
	if token != "" {
		return w.left[token] + "?"
	}
	return ""
}

// noteLeft names a token of nobody after who has left it.
func (w *world) noteLeft(c change) {
	if c.by == nil || c.after == nil || c.after.Owner == "" || w.ownerName(c.after.Owner) != "?" {
		return
	}
	if w.left == nil {
		w.left = map[string]string{}
	}
	n := 1
	for _, name := range w.left {
		if strings.HasPrefix(name, c.by.name+" ") {
			n++
		}
	}
	w.left[c.after.Owner] = fmt.Sprint(c.by.name, " ", n)
}

func (w *world) describeCall(c call) string {
	if !w.Tells {
		return ""
	}
	switch c.Op {
	case opClaim:
		return "claim as " + w.describe(c.Next)
	case opSwap:
		return fmt.Sprintf("swap %s for %s", w.describe(c.Seen), w.describe(c.Next))
	case opDelete:
		return "delete of " + w.describe(c.Seen)
	case opCommit:
		return fmt.Sprintf("commit of %s for %s", w.describe(c.Seen), w.describe(c.Next))
	default:
		return string(c.Op)
	}
}

func (w *world) describeReply(c call, got reply) string {
	switch {
	case !w.Tells:
		return ""
	case got.Done && c.Op != opGet:
		return "done"
	case got.Err != nil:
		return got.Err.Error()
	case got.Held.Key == "":
		return "refused"
	default:
		return "refused, held: " + w.describe(got.Held)
	}
}

func (w *world) describe(r store.Record) string {
	parts := []string{string(r.Status), "of " + w.ownerName(r.Owner)}
	if !r.Lease.IsZero() && r.Status == store.StatusInProgress {
		parts = append(parts, "until "+w.text(r.Lease))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		s := r.Steps[name]
		parts = append(parts, fmt.Sprintf("step %s %s of %s", name, s.Kind, w.ownerName(s.Owner())))
	}
	if r.Reason != "" {
		parts = append(parts, "because "+r.Reason)
	}
	if r.Attention != "" {
		parts = append(parts, map[bool]string{true: "given up", false: "due"}[r.GivenUp()], w.text(r.AttentionAt))
	}
	if r.Tries > 0 {
		parts = append(parts, fmt.Sprint("tries ", r.Tries))
	}
	if r.Status == store.StatusCompleted {
		parts = append(parts, fmt.Sprintf("with %q", answerIn(r)))
	}
	return strings.Join(parts, " ")
}

// seed makes the digests of this process comparable.
var seed = maphash.MakeSeed()

// digest takes up the parts of a state. Two states with the same digest are taken for one: with 64
// bits and a million states, one search in some ten million would leave something out.
type digest struct {
	maphash.Hash

	origin time.Time
}

// newDigest returns one of a world that began at an instant, with values, see [digest.Add].
func newDigest(origin time.Time, values ...any) *digest {
	d := &digest{origin: origin}
	d.SetSeed(seed)
	d.Add(values...)
	return d
}

// Add takes up values in their order, instants by how many milliseconds they are from the beginning
// of the world. Values that cannot be compared are a mistake, and panic.
func (d *digest) Add(values ...any) {
	for _, value := range values {
		if at, is := value.(time.Time); is {
			value = at.Sub(d.origin).Milliseconds() // as far as can be if there is none
		}
		maphash.WriteComparable(&d.Hash, value)
	}
}
