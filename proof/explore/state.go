package explore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/proof/schedules"
	"github.com/go-idempotent/idempotent/store"
)

// state is the digest of all that the rest of a schedule depends on. What a delivery will do
// depends on what it has learned; what the invariants will say, on the chronicle.
func (w *world) state() uint64 {
	d := schedules.NewDigest(w.origin)
	d.Time(w.now)
	for _, left := range []int{w.timeSteps, w.faults, w.leaseSteps, w.expirySteps, w.dueSteps, w.freezes} {
		d.Number(int64(left))
	}
	d.Flags(w.expired, w.unknown, w.unsettled, w.stopped)
	d.Time(w.lastLease())
	if held := w.held(); held != nil {
		w.record(d, *held)
	}
	d.Number(int64(len(w.messages)))
	for _, m := range w.messages {
		d.Text(m.by.name)
		w.message(d, m.call)
	}
	for _, c := range w.clients {
		d.Number(int64(len(c.sent)))
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
		d.Text(c.by.name)
		d.Text(c.answer)
		d.Time(c.expiry)
		d.Flags(c.to == 0)
	}
	return d.Sum64()
}

func (w *world) delivery(d *schedules.Digest, x *delivery) {
	alive := !x.dead && x.active()
	stepsOf(d, x)
	commitsOf(d, x)
	askingOf(d, x)
	d.Time(x.unknownUntil)
	d.Flags(alive, x.began, x.released, x.returned, x.resolved, x.overruled, x.frozen, x.wasFrozen)
	writes := alive || slices.ContainsFunc(w.messages, func(m message) bool { return m.by == x })
	if writes || x.began && !x.released { // else nobody asks any more until when it was protected
		d.Time(x.lease)
	}
	if writes {
		d.Flags(x.claimed, x.undone, x.restored, x.conflicts, x.refused)
		if x.took != nil {
			w.record(d, *x.took)
		}
	}
	if alive {
		for _, s := range x.strands() {
			d.Number(int64(s.at))
			d.Number(int64(s.about))
			d.Number(int64(s.slow))
			if w.Timed && s.at == atCall {
				d.Time(s.asked)
				w.message(d, s.called)
			}
		}
		d.Number(int64(x.failedRenewals))
		d.Number(int64(x.ending))
		d.Flags(expired(x.shown, x.shownAt))
		if x.hctx != nil {
			d.Flags(x.hctx.Err() != nil, leaseLost(x))
		}
		d.Number(int64(x.history))
		w.record(d, x.shown)
		w.memory(d, x.process)
		for _, c := range w.commits {
			d.Flags(c.to == 0 || c.to > x.from)
		}
		return
	}
	if !x.dead {
		d.Text(x.answer())
		d.Flags(x.err == nil, x.panicked == nil)
	}
}

// learn adds what a delivery is told to its history. Its clock is part of that: it looks at it
// whenever it runs.
func (w *world) learn(s *strand, g grant) {
	x := s.of
	d := schedules.NewDigest(w.origin)
	d.Number(int64(x.history))
	d.Time(w.now)
	d.Number(int64(g.ending))
	d.Number(int64(g.verdict))
	d.Number(int64(g.effect))
	d.Number(int64(w.branchOf(s)))
	d.Flags(g.fails, g.reply.done, g.reply.err != nil, errors.Is(g.reply.err, store.ErrWritesRefused))
	if se, ok := errors.AsType[*store.Error](g.reply.err); ok {
		d.Text(string(se.Kind))
	}
	w.record(d, g.reply.held)
	x.history = d.Sum64()
	x.process.remember(x)
}

// learnOf adds to the history of a delivery what it learned from nobody but the clock.
func (d *delivery) learnOf(now time.Time, what string) {
	h := schedules.NewDigest(d.world.origin)
	h.Number(int64(d.history))
	h.Time(now)
	h.Text(what)
	d.history = h.Sum64()
}

func (w *world) message(d *schedules.Digest, c call) {
	d.Text(string(c.op))
	w.record(d, c.seen)
	w.record(d, c.next)
	d.Time(c.now)
	d.Flags(c.within)
	d.Number(int64(c.try))
	d.Number(int64(len(c.writes)))
}

func (w *world) record(d *schedules.Digest, r store.Record) {
	d.Flags(r.Seal == "", r.Sealed(r.Result), r.Unmarked)
	for _, text := range []string{
		string(r.Status), w.ownerName(r.Owner), r.Fingerprint, string(r.Result), w.nameOfWrites(r.Seal), r.Reason,
		strings.Join(r.StepNames, " "), r.SettledBy, r.Attention,
	} {
		d.Text(text)
	}
	for _, t := range []time.Time{r.Lease, r.Expiry, r.CreatedAt, r.SettledAt, r.AttentionAt} {
		d.Time(t)
	}
	for _, n := range []int{r.Attempt, r.StepWrites, r.Tries} {
		d.Number(int64(n))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		s := r.Steps[name]
		d.Text(name)
		d.Text(string(s.Kind))
		d.Text(w.ownerName(s.Owner()))
		d.Text(string(s.Result))
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
	case !w.Tells:
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
