package explore

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// seed makes the digests of this process comparable.
var seed = maphash.MakeSeed()

// digest takes up the parts of a state. Two states with the same digest are taken for one: with 64 bits and a million
// states, one search in some ten million would leave something out.
type digest struct {
	maphash.Hash

	origin time.Time
}

func (w *world) newDigest() *digest {
	d := &digest{origin: w.origin}
	d.SetSeed(seed)
	return d
}

func (d *digest) text(s string) {
	d.WriteString(s) // never fails
	d.WriteByte(0)
}

func (d *digest) number(n int64) {
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	d.Write(b[:])
}

func (d *digest) time(t time.Time) {
	if t.IsZero() {
		d.number(-1)
		return
	}
	d.number(t.Sub(d.origin).Milliseconds())
}

func (d *digest) flags(flags ...bool) {
	var n int64
	for _, f := range flags {
		n <<= 1
		if f {
			n++
		}
	}
	d.number(n)
}

// state is the digest of all that the rest of a schedule depends on. What a delivery will do depends on what it has learned;
// what the invariants will say, on the chronicle.
func (w *world) state() uint64 {
	d := w.newDigest()
	d.time(w.now)
	d.number(int64(w.timeSteps))
	d.number(int64(w.faults))
	d.number(int64(w.leaseSteps))
	d.number(int64(w.expirySteps))
	d.number(int64(w.dueSteps))
	d.flags(w.expired, w.unknown, w.unsettled, w.stopped)
	if held := w.held(); held != nil {
		w.record(d, *held)
	}
	d.number(int64(len(w.messages)))
	for _, m := range w.messages {
		d.text(m.by.name)
		w.message(d, m.call)
	}
	for _, c := range w.clients {
		d.number(int64(len(c.sent)))
		w.memory(d, w.processOf(c))
		for _, x := range c.sent {
			w.delivery(d, x)
		}
	}
	w.operatorState(d)
	w.stepDigest(d)
	w.rowDigest(d)
	w.mailDigest(d)
	for _, c := range w.commits {
		d.text(c.by.name)
		d.text(c.answer)
		d.time(c.expiry)
		d.flags(c.to == 0)
	}
	return d.Sum64()
}

func (w *world) delivery(d *digest, x *delivery) {
	alive := !x.dead && x.active()
	d.stepsOf(x)
	d.commitsOf(x)
	d.askingOf(x)
	d.time(x.lease)
	d.time(x.unknownUntil)
	d.flags(alive, x.began, x.released, x.claimed, x.undone, x.restored, x.returned, x.resolved, x.conflicts, x.refused, x.overruled)
	if x.took != nil {
		w.record(d, *x.took)
	}
	if alive {
		for _, s := range x.strands() {
			d.number(int64(s.at))
			d.number(int64(s.about))
			d.number(int64(s.slow))
			if w.Timed && s.at == atCall {
				d.time(s.asked)
				w.message(d, s.called)
			}
		}
		d.number(int64(x.failedRenewals))
		d.number(int64(x.ending))
		d.flags(expired(x.shown, x.shownAt))
		if x.hctx != nil {
			d.flags(x.hctx.Err() != nil, leaseLost(x))
		}
		d.number(int64(x.history))
		w.record(d, x.shown)
		w.memory(d, x.process)
		for _, c := range w.commits {
			d.flags(c.to == 0 || c.to > x.from)
		}
		return
	}
	if !x.dead {
		d.text(x.answer())
		d.flags(x.err == nil, x.panicked == nil)
	}
}

// learn adds what a delivery is told to its history. Its clock is part of that: it looks at it whenever it runs.
func (w *world) learn(s *strand, g grant) {
	x := s.of
	d := w.newDigest()
	d.number(int64(x.history))
	d.time(w.now)
	d.number(int64(g.ending))
	d.number(int64(g.verdict))
	d.number(int64(g.effect))
	d.number(int64(w.branchOf(s)))
	d.flags(g.fails, g.reply.done, g.reply.err != nil, errors.Is(g.reply.err, store.ErrWritesRefused))
	if se, ok := errors.AsType[*store.Error](g.reply.err); ok {
		d.text(string(se.Kind))
	}
	w.record(d, g.reply.held)
	x.history = d.Sum64()
	x.process.remember(x)
}

// learnOf adds to the history of a delivery what it learned from nobody but the clock.
func (d *delivery) learnOf(now time.Time, what string) {
	h := d.world.newDigest()
	h.number(int64(d.history))
	h.time(now)
	h.text(what)
	d.history = h.Sum64()
}

func (w *world) message(d *digest, c call) {
	d.text(string(c.op))
	w.record(d, c.seen)
	w.record(d, c.next)
	d.time(c.now)
	d.flags(c.within)
	d.number(int64(c.try))
	d.number(int64(len(c.writes)))
}

func (w *world) record(d *digest, r store.Record) {
	d.text(string(r.Status))
	d.text(w.ownerName(r.Owner))
	d.time(r.Lease)
	d.time(r.Expiry)
	d.text(r.Fingerprint)
	d.text(string(r.Result))
	d.flags(r.Seal == "", r.Sealed(r.Result))
	d.text(w.nameOfWrites(r.Seal))
	d.text(r.Reason)
	d.number(int64(r.Attempt))
	d.time(r.CreatedAt)
	d.number(int64(r.StepWrites))
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		s := r.Steps[name]
		d.text(name)
		d.text(string(s.Kind))
		d.text(w.ownerName(s.Owner()))
		d.text(string(s.Result))
	}
	d.text(r.SettledBy)
	d.time(r.SettledAt)
	d.text(r.Attention)
	d.time(r.AttentionAt)
	d.number(int64(r.Tries))
}

// ownerName is the delivery whose token it is: tokens are random, and the same schedule has others each time.
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
	if !w.tell {
		return ""
	}
	switch c.op {
	case opClaim:
		return "claim as " + w.describe(c.next)
	case opSwap:
		return fmt.Sprintf("swap %s for %s", w.describe(c.seen), w.describe(c.next))
	case opDelete:
		return "delete of " + w.describe(c.seen)
	case opCommit:
		return fmt.Sprintf("commit of %s for %s", w.describe(c.seen), w.describe(c.next))
	case opGet:
	}
	return string(c.op)
}

func (w *world) describeReply(c call, got reply) string {
	switch {
	case !w.tell:
		return ""
	case got.done && c.op != opGet:
		return "done"
	case got.err != nil:
		return got.err.Error()
	case got.held.Key == "":
		return "refused"
	default:
		return "refused, held: " + w.describe(got.held)
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
		parts = append(parts, map[bool]string{true: "parked", false: "due"}[r.Parked()], w.text(r.AttentionAt))
	}
	if r.Tries > 0 {
		parts = append(parts, fmt.Sprint("tries ", r.Tries))
	}
	if r.Status == store.StatusCompleted {
		parts = append(parts, fmt.Sprintf("with %q", answerIn(r)))
	}
	return strings.Join(parts, " ")
}
