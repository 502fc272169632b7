package explore

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/store"
)

// action is a choice of the schedule.
type action func()

// actions are the choices of the schedule in this state. What goes on without a detour comes first,
// so that the first schedule which breaks something is a simple one.
func (w *world) actions() []action {
	var all []action
	running := false // or still to come
	for _, d := range w.deliveries {
		if d.active() && !d.dead {
			running = true
			all = w.actionsOf(d, all)
			if w.freezes > 0 && !d.frozen && d.client == w.clients[0] {
				all = append(all, func() { w.freeze(d) })
			}
		}
	}
	for n := range w.messages {
		all = append(all, func() { w.arriveLate(n) })
	}
	for n, c := range w.clients {
		running = running || len(c.sent) == 0 && c.Asks == nil && c.Of != Powertools
		if w.maySend(n, c) {
			all = append(all, func() { w.start(c) })
		}
	}
	all = w.actionsOfOperator(all)
	if w.outside < len(w.Outside) {
		all = append(all, w.changeRows)
	}
	all = append(all, w.steps()...)
	all = w.actionsOfRelays(all)
	if !running && len(w.mail.rounds) == 0 {
		all = append(all, w.end)
	}
	return all
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

// actionsOf are the choices of a delivery.
func (w *world) actionsOf(d *delivery, all []action) []action {
	switch {
	case d.frozen:
		return append(all, func() { w.freeze(d) })
	case d.client.Of == Powertools && d.began:
		return append(all, func() { w.kill(d) })
	}
	for _, s := range d.strands() {
		if s.at == atCall {
			all = w.actionsOfCall(s, all)
			continue
		}
		for _, g := range w.grants(s) {
			all = append(all, func() { w.goOn(s, g) })
		}
		runs := s.at == atEnding || s.at == atStep || s.at == atGiveUp || s.at == atResolver && d.asks()
		if runs && w.faults > 0 && slices.ContainsFunc(w.Faults, Fault.kills) {
			all = append(all, func() { w.kill(d) })
		}
	}
	return all
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
	case atResolver, atStepResolver:
		for _, v := range w.verdicts(d) {
			all = append(all, grant{verdict: v})
		}
	case atCall, atEnd, away:
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

func (w *world) actionsOfCall(s *strand, all []action) []action {
	d := s.of
	if d.conflicts && w.underTransaction(s) {
		return append(all, func() { w.grantCall(s, Conflict) })
	}
	all = append(all, func() { w.grantCall(s, None) })
	if s.slow != None || w.faults == 0 {
		return all
	}
	for _, f := range w.Faults {
		switch {
		case s.called.Op == calls.Get && f.leavesMessage():
		case f == Conflict && !w.underTransaction(s):
		case f.ofCommits(s.called):
		case w.Strikes != nil && !w.Strikes(f, d.callName(s.called)):
		default:
			all = append(all, func() { w.grantCall(s, f) })
		}
	}
	return all
}

// underTransaction reports whether the claim of a delivery that has not executed can meet a
// transaction of the owner, who works.
func (w *world) underTransaction(s *strand) bool {
	held := w.held()
	if s.called.Op != calls.Claim || s.of.began || held == nil || held.Status != store.StatusInProgress {
		return false
	}
	return slices.ContainsFunc(w.deliveries, func(x *delivery) bool {
		return x != s.of && x.owner == held.Owner && x.handling() && !x.dead
	})
}

// steps are those of the clock and of the table, where they change what anybody sees.
func (w *world) steps() (all []action) {
	held := w.held()
	if w.timeSteps > 0 && w.mayPass() && !w.nextInstant().IsZero() {
		all = append(all, w.passTime)
	}
	if held == nil {
		return all
	}
	// to moves the clock, and uses up what is left of such steps.
	to := func(left *int, end time.Time, what string) {
		*left--
		w.advance(end)
		w.Sayf("%s: %s", w.clockText(), what)
	}
	if w.leaseSteps > 0 && held.Status == store.StatusInProgress && w.fastest().Before(held.Lease) {
		all = append(all, func() { to(&w.leaseSteps, held.Lease, "the lease ends") })
	}
	if w.expirySteps > 0 && w.fastest().Before(held.Expiry) {
		all = append(all, func() {
			w.expired = true
			to(&w.expirySteps, held.Expiry.Add(time.Second), "the expiry has passed") // DynamoDB deletes after it
			if w.table != nil {
				w.table.Forget() // DynamoDB does so after ten minutes
			}
		})
	}
	if w.dueSteps > 0 && held.Attention != "" && w.fastest().Before(held.AttentionAt) {
		all = append(all, func() { to(&w.dueSteps, held.AttentionAt, "somebody is to be asked about the record") })
	}
	if w.expired && w.now.After(held.Expiry) {
		all = append(all, w.remove)
	}
	return all
}

// fastest is the clock that is furthest ahead.
func (w *world) fastest() time.Time {
	t := w.now
	for _, c := range w.clients {
		t = later(t, w.now.Add(c.Skew))
	}
	return t
}

// advance moves the clock so that the one which is furthest ahead is at end.
func (w *world) advance(end time.Time) {
	w.now = w.now.Add(end.Sub(w.fastest()))
}
