package explore

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// may makes something a choice of the schedule.
func (w *world) may(do func()) { w.choices = append(w.choices, do) }

// choose finds the choices of the schedule in this state. What goes on without a detour comes
// first, so that the first schedule which breaks something is a simple one.
func (w *world) choose() {
	w.choices = w.choices[:0]
	running := false // or still to come
	for _, d := range w.deliveries {
		if d.alive() {
			running = true
			w.mayGoOn(d)
			if w.Freezes > 0 && !d.frozen && d.client == w.clients[0] {
				w.may(func() { w.freeze(d) })
			}
		}
	}
	for n := range w.messages {
		w.may(func() { w.arriveLate(n) })
	}
	for n, c := range w.clients {
		running = running || len(c.sent) == 0 && c.Asks == nil && c.Of != Powertools
		if w.maySend(n, c) {
			w.may(func() { w.start(c) })
		}
	}
	w.mayOperate()
	if len(w.Outside) > 0 {
		w.may(w.changeRows)
	}
	w.mayStep()
	if relaying := w.mayRelay(); !running && !relaying {
		w.may(w.end)
	}
}

// maySend reports whether a client sends now: it has sent nothing yet, or what it sent last brought
// no result.
func (w *world) maySend(n int, c *client) bool {
	switch sent := len(c.sent); sent {
	case c.Deliveries:
		return false
	case 0:
		if c.Of == Powertools {
			return len(w.deliveries) == 0
		}
		alike := n > 0 && w.clients[n-1].Client == c.Client
		return (!alike || len(w.clients[n-1].sent) > 0) && (c.Asks == nil || w.mayAsk(c.Asks))
	default:
		last := c.sent[sent-1]
		if c.Asks != nil {
			return w.mayAsk(c.Asks) && (last.dead || last.at == atEnd)
		}
		return last.dead || last.at == atEnd && (last.err != nil || last.panicked != nil)
	}
}

// mayGoOn makes choices of how a delivery goes on.
func (w *world) mayGoOn(d *delivery) {
	switch {
	case d.frozen:
		w.may(func() { w.freeze(d) })
		return
	case d.client.Of == Powertools && d.began:
		w.may(func() { w.kill(d) })
		return
	}
	left, faults := w.harm(d)
	for _, s := range d.strands() {
		if s.at == atCall {
			w.mayCall(s)
			continue
		}
		for _, g := range w.grants(s) {
			w.may(func() { w.goOn(s, g) })
		}
		runs := s.at == atEnding || s.at == atStep || s.at == atGiveUp || s.at == atDelivery ||
			s.at == atResolver && d.asks()
		if runs && *left > 0 && slices.ContainsFunc(faults, Fault.kills) {
			w.may(func() { w.kill(d) })
		}
	}
}

// grants are the ways in which a strand may go on from where it waits, if that is no call.
func (w *world) grants(s *strand) (all []grant) {
	d := s.of
	switch s.at {
	case atFork:
		all = []grant{{}}
	case atGiveUp:
		all = []grant{{}, {fails: true}}
	case atEnding:
		if w.EndsEarly && d.branches == nil && d.steps == nil && d.tries == nil {
			all = append(all, grant{ending: GoesOn})
		}
		for _, e := range w.Endings {
			if e != ObeysContext || d.hctx.Err() != nil {
				all = append(all, grant{ending: e})
			}
		}
	case atStep:
		if len(w.Effects) == 0 {
			all = append(all, grant{effect: Happens})
		}
		for _, e := range w.Effects {
			all = append(all, grant{effect: e})
		}
	case atDelivery:
		for _, how := range w.Relays.Receives {
			all = append(all, grant{receives: how})
		}
	case atResolver, atStepResolver:
		for _, v := range w.verdicts(d) {
			all = append(all, grant{verdict: v})
		}
	default:
	}
	return all
}

// verdicts are what a resolver may say. One that answers after the lease has ended was suspended:
// where contexts have no clock of their own, nobody would know that it is late.
func (w *world) verdicts(d *delivery) []Verdict {
	all := w.Verdicts
	if all == nil {
		all = []Verdict{StillUnknown, Executed, Untouched}
		if d.asks() {
			all = append(all, CannotTell)
		}
	}
	if w.Timed || d.clock().Before(d.lease) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(v Verdict) bool {
		return v == Untouched || v == Executed && !d.asks()
	})
}

// mayCall makes choices of a call and its faults.
func (w *world) mayCall(s *strand) {
	d := s.of
	if d.conflicts && w.underTransaction(s) {
		w.may(func() { w.grantCall(s, Conflict) })
		return
	}
	w.may(func() { w.grantCall(s, None) })
	left, faults := w.harm(d)
	if s.slow != None || *left == 0 {
		return
	}
	for _, f := range faults {
		if w.mayBefall(s, f) {
			w.may(func() { w.grantCall(s, f) })
		}
	}
}

// harm is what may befall the calls of a delivery, and how often that is left.
func (w *world) harm(d *delivery) (left *int, faults []Fault) {
	if d.round != nil {
		return &w.Relays.MaxFaults, w.Relays.Faults
	}
	return &w.MaxFaults, w.Faults
}

// mayBefall reports whether a fault may happen to the call of a strand.
func (w *world) mayBefall(s *strand, f Fault) bool {
	switch d := s.of; {
	case d.round != nil:
		return d.boxCall.Op != boxGet || !f.leavesMessage() && f != Twice
	case s.called.Op == opGet && f.leavesMessage(), f == Conflict && !w.underTransaction(s), f.ofCommits(s.called):
		return false
	default:
		return w.Strikes == nil || w.Strikes(f, d.callName(s.called))
	}
}

// underTransaction reports whether the claim of a delivery that has not executed can meet a
// transaction of the owner, who works.
func (w *world) underTransaction(s *strand) bool {
	held := w.held()
	if s.called.Op != opClaim || s.of.began || held == nil || held.Status != store.StatusInProgress {
		return false
	}
	return slices.ContainsFunc(w.deliveries, func(x *delivery) bool {
		return x != s.of && x.owner == held.Owner && x.handling() && !x.dead
	})
}

// mayStep makes choices of what the clock and the table do, where anybody sees something else then.
func (w *world) mayStep() {
	held := w.held()
	if w.TimeSteps > 0 && w.mayPass() && !w.nextInstant().IsZero() {
		w.may(w.passTime)
	}
	if held == nil {
		return
	}
	// to moves the clock, and uses up what is left of such steps.
	to := func(left *int, end time.Time, what string) {
		*left--
		w.now = w.now.Add(end.Sub(w.fastest())) // the one that is furthest ahead is at end
		w.Sayf("%s: %s", w.clockText(), what)
	}
	if w.LeaseSteps > 0 && held.Status == store.StatusInProgress && w.fastest().Before(held.Lease) {
		w.may(func() { to(&w.LeaseSteps, held.Lease, "the lease ends") })
	}
	if w.ExpirySteps > 0 && w.fastest().Before(held.Expiry) {
		w.may(func() {
			w.expired = true
			to(&w.ExpirySteps, held.Expiry.Add(time.Second), "the expiry has passed") // DynamoDB deletes after it
			if w.table != nil {
				w.table.Forget() // as it does ten minutes after a transaction
			}
		})
	}
	if w.DueSteps > 0 && held.Attention != "" && w.fastest().Before(held.AttentionAt) {
		w.may(func() { to(&w.DueSteps, held.AttentionAt, "somebody is to be asked about the record") })
	}
	if w.expired && w.now.After(held.Expiry) {
		w.may(w.remove)
	}
}

// fastest is the clock that is furthest ahead.
func (w *world) fastest() time.Time {
	t := w.now
	for _, c := range w.clients {
		t = later(t, w.now.Add(c.Skew))
	}
	return t
}
