package explore

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// strand is what runs and stops where the schedule decides: of a delivery the invocation itself,
// the heartbeat beside it, or a branch of its handler.
type strand struct {
	world  *world
	of     *delivery
	at     point
	called call
	// asked is the clock when the call was made.
	asked time.Time
	// slow is the fault of a call that takes long, got the reply that is on its way if it was
	// applied.
	slow   Fault
	got    reply
	resume chan grant
	// about is the step that it is in.
	about int
}

func (w *world) newStrand(of *delivery) strand {
	return strand{world: w, of: of, at: away, resume: make(chan grant)}
}

// fresh reports whether the strand has made a call of which nothing has been decided yet.
func (s *strand) fresh() bool { return s.at == atCall && s.slow == None }

// waits reports whether the strand waits for the schedule.
func (s *strand) waits() bool { return s.at != away && s.at != atEnd }

// arrival is a strand that has come to a point at which it waits, or that has given up a call. A
// strand is written by the schedule alone.
type arrival struct {
	*strand

	at     point
	called *call
	gaveUp bool
}

// tick is the unit of a timed clock. Pauses have jitter; calls begin at the next tick, so that the
// same schedule has the same times whenever it is played.
const tick = 100 * time.Millisecond

// onTick is the first tick that is not before t.
func onTick(t time.Time) time.Time {
	if down := t.Truncate(tick); !down.Equal(t) {
		return down.Add(tick)
	}
	return t
}

// takesLease reports whether a Swap asks for a lease that lives.
func (c call) takesLease(now time.Time) bool {
	return c.Op == opSwap && c.Next.Status == store.StatusInProgress && c.Next.Lease.After(now)
}

// renews reports whether a call is one of a heartbeat: an owner asks for a longer lease.
func (c call) renews(now time.Time) bool { return c.takesLease(now) && c.Seen.Owner == c.Next.Owner }

// ask makes a call on a strand and waits for what the schedule makes of it. The heartbeat gives up
// when its context ends. The invocation does not: its machine may have been suspended, and it finds
// the answer when it goes on.
func (s *strand) ask(ctx context.Context, c call) reply {
	w, d := s.world, s.of
	if w.Timed {
		time.Sleep(time.Until(onTick(time.Now())))
	}
	if s == &d.beat {
		d.ice.wait()
	}
	w.arrived <- arrival{strand: s, at: atCall, called: &c}
	var ended <-chan struct{}
	if s == &d.beat {
		ended = ctx.Done()
	}
	select {
	case g := <-s.resume:
		return g.reply
	case <-ended:
		d.ice.wait()
		w.arrived <- arrival{strand: s, at: away, gaveUp: true}
		return reply{Err: &store.Error{Op: string(c.Op), Kind: store.FailureTimeout, Err: ctx.Err()}}
	}
}

// take notes an arrival.
func (w *world) take(a arrival) {
	a.strand.at = a.at
	if w.Timed {
		w.now = onTick(time.Now())
	}
	switch {
	case a.called != nil:
		a.strand.called, a.asked, a.slow, a.got = *a.called, a.of.clock(), None, reply{}
		if a.strand == &a.of.beat {
			w.Saw("renewal")
		}
	case a.gaveUp:
		w.gaveUp(a.strand)
	}
}

// gaveUp notes that a heartbeat does not wait any more. A request that was slow is still on its
// way.
func (w *world) gaveUp(s *strand) {
	w.Sayf("%s: the heartbeat of %s waits no longer", w.clockText(), s.of.name)
	w.Saw("renewal given up")
	if s.slow == SlowRequest && !s.of.dead {
		w.messages = append(w.messages, message{by: s.of, call: s.called})
	}
	if s.slow != None {
		s.of.failedRenewals++
	}
	s.of.learnOf(w.now, "gave up")
	s.slow = None
}

// settle waits until nobody moves without the clock, and takes note of who has arrived.
func (w *world) settle() {
	synctest.Wait()
	for {
		select {
		case a := <-w.arrived:
			w.take(a)
		default:
			return
		}
	}
}

// turn lets a strand run to the next point at which its delivery waits for the schedule.
func (w *world) turn(s *strand, g grant) {
	s.at, s.slow = away, None
	w.running = s.of
	s.resume <- g
	w.rest(s.of)
	if s == &s.of.beat && s.at == away && g.reply.Err != nil {
		w.pass(time.Now().Add(5 * tick)) // until it tries again
	}
}

// rest waits until the invocation has arrived, or waits for its heartbeat, which has.
func (w *world) rest(d *delivery) {
	for {
		if w.Timed || d.round != nil || len(w.Commits) > 0 && len(d.branches) > 0 {
			w.settle()
		}
		if d.rests() {
			return
		}
		w.await(<-w.arrived)
	}
}

// await notes an arrival, where the clock moves only once all that it has woken rests, too.
func (w *world) await(a arrival) {
	if w.Timed {
		synctest.Wait()
	}
	w.take(a)
}

// rests reports whether whatever of the delivery moves without the clock has come to a point at
// which it waits.
func (d *delivery) rests() bool {
	waits := false // for a branch
	for _, b := range d.branches {
		if b.at == away && b != d.committer {
			return false
		}
		waits = waits || b.at != atEnd && b.at != away && (!d.world.Abandons || b == d.committer || d.commitWaitsFor(b))
	}
	if c := d.committer; c != nil && c.at == away {
		return waits || d.beat.at == atCall
	}
	return d.at != away || d.beat.at == atCall || waits
}

// pass lets the time go on to end, or until a strand arrives.
func (w *world) pass(end time.Time) {
	timer := time.NewTimer(time.Until(onTick(end)))
	defer timer.Stop()
	select {
	case a := <-w.arrived:
		w.await(a)
	case <-timer.C:
	}
	w.settle()
	w.now = onTick(time.Now())
}

// nextInstant is when the time has to stop next: where the held lease ends, and shortly before and
// at the end of a lease that was prepared when a slow call of an invocation was made. It is zero if
// there is no such instant.
func (w *world) nextInstant() (next time.Time) {
	consider := func(t time.Time) {
		if t = onTick(t); t.After(w.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if held := w.held(); held != nil && held.Status == store.StatusInProgress {
		consider(held.Lease)
	}
	for _, d := range w.deliveries {
		if d.at == atCall && d.slow != None && !d.dead {
			end := d.asked.Add(d.client.longest())
			consider(end.Add(-time.Second))
			consider(end)
		}
		if d.at == atResolver && d.asks() && !d.dead { // when it has no time left
			consider(d.started.Add(timeout))
		}
	}
	return next
}

// ice keeps the heartbeat of a process that is suspended from doing anything: it is full then.
// Whatever else the process does waits for the schedule.
type ice chan struct{}

func (i ice) freeze() { i <- struct{}{} }

// melt lets the heartbeat go on.
func (i ice) melt() { <-i }

func (i ice) wait() {
	i.freeze()
	i.melt()
}

// freeze suspends the process of a delivery, or lets it go on.
func (w *world) freeze(d *delivery) {
	if d.frozen = !d.frozen; d.frozen {
		d.ice.freeze()
		w.Freezes--
		w.Sayf("%s: the process of %s is suspended", w.clockText(), d.name)
		w.Saw("suspended")
		d.wasFrozen, d.failedRenewals = true, hopeless // nobody knows until when its lease holds
		return
	}
	d.ice.melt()
	w.Sayf("%s: the process of %s goes on", w.clockText(), d.name)
	if d.hctx != nil && !w.now.Before(w.protectedUntil(d)) {
		w.Saw("goes on after its lease")
	}
	d.learnOf(w.now, "goes on")
	w.settle()
	w.rest(d)
}

// mayPass reports whether time goes on: nobody has made a call of which nothing has been decided.
func (w *world) mayPass() bool {
	for _, d := range w.deliveries {
		for _, s := range d.strands() {
			if !d.dead && !d.frozen && s.fresh() {
				return false
			}
		}
	}
	return true
}
