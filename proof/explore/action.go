package explore

import (
	"context"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

type actionKind int

const (
	actStart     actionKind = iota // a client sends its request
	actCall                        // a call of the store is applied and answered, or meets its fault, or is answered at last
	actReturn                      // a handler returns
	actDie                         // the process of a running handler dies
	actResolve                     // a resolver answers, that of a step, too
	actFork                        // a step begins beside others, or a commit beside steps
	actEffect                      // the function of a step returns
	actMessage                     // a message arrives late
	actLease                       // the clock goes to the end of the held lease
	actExpiry                      // the clock goes to the expiry of the held record
	actRemove                      // the table deletes an expired record
	actTime                        // time goes on until a heartbeat acts, a lease ends, or a prepared one is nearly over
	actLook                        // the operator is shown the record
	actDo                          // the operator acts on what it was shown
	actPark                        // who is given a record to be parked takes it, or fails
	actDueNow                      // the clock goes to where somebody is to be asked about the record
	actOutside                     // somebody else changes rows
	actHandOver                    // the stream of the messages hands over what was written
	actDrain                       // somebody drains the messages
	actBox                         // a relay's call of its box is applied and answered, or meets its fault
	actReceive                     // the delivery of a message ends
	actRelayDies                   // the process of a relay dies while it delivers
	actLateWrite                   // a relay's write of a message arrives late
	actRedrive                     // somebody redrives a parked message
	actDue                         // the clock goes to where a message is due
	actFreeze                      // a process is suspended, or goes on
	actEnd                         // nothing more happens
)

type action struct {
	kind    actionKind
	client  *client
	d       *delivery
	strand  *strand // of d, that made the call
	fault   Fault
	ending  Ending
	verdict Verdict
	message int
	deed    Deed
	effect  Effect
	fails   bool // who is given a record to be parked
	relayAction
}

// actions are the choices of the schedule in this state. What goes on without a detour comes first, so that the first
// schedule which breaks something is a simple one.
func (w *world) actions() []action {
	var all []action
	running := false // or still to come
	for _, d := range w.deliveries {
		if d.active() && !d.dead {
			running = true
			all = w.actionsOf(d, all)
			if w.freezes > 0 && !d.frozen && d.client == w.clients[0] {
				all = append(all, action{kind: actFreeze, d: d})
			}
		}
	}
	for n := range w.messages {
		all = append(all, action{kind: actMessage, message: n})
	}
	for n, c := range w.clients {
		running = running || len(c.sent) == 0 && c.Asks == nil && c.Of != Powertools
		if w.maySend(n, c) {
			all = append(all, action{kind: actStart, client: c})
		}
	}
	all = w.actionsOfOperator(all)
	if w.outside < len(w.Outside) {
		all = append(all, action{kind: actOutside})
	}
	all = append(all, w.steps()...)
	all = w.actionsOfRelays(all)
	if !running && len(w.mail.rounds) == 0 {
		all = append(all, action{kind: actEnd})
	}
	return all
}

// maySend reports whether a client sends now: it has sent nothing yet, or what it sent last brought no result.
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

func (w *world) actionsOf(d *delivery, all []action) []action {
	switch {
	case d.frozen:
		return append(all, action{kind: actFreeze, d: d})
	case d.client.Of == Powertools && d.began:
		return append(all, action{kind: actDie, d: d})
	}
	for _, s := range d.strands() {
		switch s.at {
		case atCall:
			all = w.actionsOfCall(s, all)
		case atFork, atStep, atStepResolver:
			all = w.actionsOfStep(s, all)
		case atEnding, atResolver, atPark, atEnd, away:
		}
	}
	switch d.at {
	case atEnding:
		if w.EndsEarly && d.branches == nil && d.steps == nil && d.tries == nil {
			all = append(all, action{kind: actReturn, d: d, ending: GoesOn})
		}
		for _, e := range w.Endings {
			if e != ObeysContext || d.hctx.Err() != nil {
				all = append(all, action{kind: actReturn, d: d, ending: e})
			}
		}
		if w.faults > 0 && w.mayDie() {
			all = append(all, action{kind: actDie, d: d})
		}
	case atPark:
		all = append(all, action{kind: actPark, d: d}, action{kind: actPark, d: d, fails: true})
		if w.faults > 0 && w.mayDie() {
			all = append(all, action{kind: actDie, d: d})
		}
	case atResolver:
		all = w.actionsOfResolver(&d.strand, all)
	case atCall, atFork, atStep, atStepResolver, atEnd, away:
	}
	return all
}

// actionsOfStep are the choices where a step waits for the schedule.
func (w *world) actionsOfStep(s *strand, all []action) []action {
	d := s.of
	switch s.at {
	case atFork:
		return append(all, action{kind: actFork, d: d, strand: s})
	case atStepResolver:
		return w.actionsOfResolver(s, all)
	case atCall, atEnding, atResolver, atPark, atStep, atEnd, away: // in its function
	}
	if len(w.Effects) == 0 {
		all = append(all, action{kind: actEffect, d: d, strand: s})
	}
	for _, e := range w.Effects {
		all = append(all, action{kind: actEffect, d: d, strand: s, effect: e})
	}
	if w.faults > 0 && w.mayDie() {
		all = append(all, action{kind: actDie, d: d})
	}
	return all
}

// actionsOfResolver are what a resolver may say. One that answers after the lease has ended was suspended: where contexts have no clock of
// their own, nobody would know that it is late.
func (w *world) actionsOfResolver(s *strand, all []action) []action {
	d, verdicts := s.of, w.Verdicts
	if verdicts == nil {
		verdicts = []Verdict{StillUnknown, Executed, Untouched}
		if d.asks() {
			verdicts = append(verdicts, CannotTell)
		}
	}
	late := !d.clock().Before(d.lease)
	for _, v := range verdicts {
		if !late || v != Untouched && v != Executed || d.asks() && (v == Executed || w.Timed) {
			all = append(all, action{kind: actResolve, d: d, strand: s, verdict: v})
		}
	}
	if d.asks() && w.faults > 0 && w.mayDie() {
		all = append(all, action{kind: actDie, d: d})
	}
	return all
}

func (w *world) actionsOfCall(s *strand, all []action) []action {
	d := s.of
	if d.conflicts && w.underTransaction(s) {
		return append(all, action{kind: actCall, d: d, strand: s, fault: Conflict})
	}
	all = append(all, action{kind: actCall, d: d, strand: s})
	if s.slow != None || w.faults == 0 {
		return all
	}
	for _, f := range w.Faults {
		switch {
		case s.called.op == opGet && f.leavesMessage():
		case f == Conflict && !w.underTransaction(s):
		case f.ofCommits(s.called):
		case w.Strikes != nil && !w.Strikes(f, d.callName(s.called)):
		default:
			all = append(all, action{kind: actCall, d: d, strand: s, fault: f})
		}
	}
	return all
}

// underTransaction reports whether the claim of a delivery that has not executed can meet a transaction of the owner, who works.
func (w *world) underTransaction(s *strand) bool {
	held := w.held()
	if s.called.op != opClaim || s.of.began || held == nil || held.Status != store.StatusInProgress {
		return false
	}
	for _, x := range w.deliveries {
		if x != s.of && x.owner == held.Owner && x.handling() && !x.dead {
			return true
		}
	}
	return false
}

func (w *world) mayDie() bool {
	for _, f := range w.Faults {
		if f.kills() {
			return true
		}
	}
	return false
}

// steps are those of the clock and of the table, where they change what anybody sees.
func (w *world) steps() (all []action) {
	held := w.held()
	if w.timeSteps > 0 && w.mayPass() && !w.nextInstant().IsZero() {
		all = append(all, action{kind: actTime})
	}
	if held == nil {
		return all
	}
	if w.leaseSteps > 0 && held.Status == store.StatusInProgress && w.fastest().Before(held.Lease) {
		all = append(all, action{kind: actLease})
	}
	if w.expirySteps > 0 && w.fastest().Before(held.Expiry) {
		all = append(all, action{kind: actExpiry})
	}
	if w.dueSteps > 0 && held.Attention != "" && w.fastest().Before(held.AttentionAt) {
		all = append(all, action{kind: actDueNow})
	}
	if w.expired && w.now.After(held.Expiry) {
		all = append(all, action{kind: actRemove})
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

func (w *world) act(a action) {
	switch a.kind {
	case actStart:
		w.start(a.client)
	case actCall:
		w.grantCall(a.strand, a.fault)
	case actReturn:
		w.Sayf("  the handler of %s %s", a.d.name, a.ending)
		if a.ending != GoesOn {
			a.d.ended(a.ending)
		}
		w.goOn(&a.d.strand, grant{ending: a.ending})
	case actDie:
		w.Sayf("  the process of %s dies %s", a.d.name, a.d.where())
		if a.d.client.Of != Powertools {
			w.faults--
		}
		w.die(a.d)
	case actFork:
		if a.strand == &a.d.strand || a.strand.about < 0 {
			w.Sayf("  %s starts its commit", a.d.name)
		} else {
			w.Sayf("  %s starts its step %s", a.d.name, w.Steps[a.strand.about].Name)
		}
		w.goOn(a.strand, grant{})
	case actEffect:
		w.Sayf("    the step %s of %s %s", w.Steps[a.strand.about].Name, a.d.name, a.effect)
		w.goOn(a.strand, grant{effect: a.effect})
	case actResolve:
		if a.strand.at == atStepResolver {
			w.Sayf("    the resolver of the step %s of %s says: %s", w.Steps[a.strand.about].Name, a.d.name, a.verdict)
			w.resolvedStep(a.d, a.strand.about, a.verdict)
		} else {
			w.Sayf("  the resolver of %s says: %s", a.d.name, a.verdict)
			w.resolved(a.d, a.verdict)
		}
		w.goOn(a.strand, grant{verdict: a.verdict})
	case actPark:
		w.endPark(a.d, a.fails)
	case actDueNow:
		w.dueSteps--
		w.advance(w.held().AttentionAt)
		w.Sayf("%s: somebody is to be asked about the record", w.clockText())
	case actFreeze:
		w.freeze(a.d)
	case actMessage:
		w.arriveLate(a.message)
	case actLease:
		w.leaseSteps--
		w.advance(w.held().Lease)
		w.Sayf("%s: the lease ends", w.clockText())
	case actExpiry:
		w.expirySteps--
		w.expired = true
		w.advance(w.held().Expiry.Add(time.Second)) // DynamoDB deletes after it
		w.forgetTokens()
		w.Sayf("%s: the expiry has passed", w.clockText())
	case actRemove:
		w.Sayf("  the table deletes the expired record")
		w.remove()
	case actOutside:
		w.changeRows()
	case actLook:
		w.look()
	case actDo:
		w.do(a.deed, a.fault)
	case actTime:
		w.timeSteps--
		w.pass(w.nextInstant())
		w.Sayf("%s: time has passed", w.clockText())
		w.check(event{kind: evPassed})
	case actHandOver, actDrain, actBox, actReceive, actRelayDies, actLateWrite, actRedrive, actDue:
		w.actOfRelay(a)
	case actEnd:
	}
}

// grantCall lets a call of the store happen, or its fault.
func (w *world) grantCall(s *strand, f Fault) {
	d, c := s.of, s.called
	if s.slow != None {
		w.grantSlow(s)
		return
	}
	w.sent(s, f)
	switch {
	case f == Conflict && d.conflicts: // as long as the owner works
	case f != None:
		w.faults--
		w.Saw("fault: " + f.String())
		d.conflicts = d.conflicts || f == Conflict
	}
	w.Sayf("%s:  %s: %s %s", w.clockText(), d.name, w.describeCall(c), f)
	var got reply
	if f.applied() {
		got = w.apply(d, c)
		w.Sayf("    %s", w.describeReply(c, got))
	}
	if f == SlowRequest || f == SlowReply {
		s.slow, s.got = f, got
		w.Saw("slow " + string(d.callName(c)))
		return
	}
	if f.leavesMessage() {
		w.messages = append(w.messages, message{by: d, call: c})
	}
	if f.kills() {
		w.die(d)
		return
	}
	if err := f.err(c.op); err != nil {
		got = reply{err: err}
	}
	if refused, ok := errors.AsType[*store.Error](got.err); ok && f == Repeat && s.called.op == opCommit {
		unclear := *refused
		unclear.NotApplied = false // the copy is an attempt inside of the call that was not answered
		got.err = &unclear
	}
	w.replied(s, got)
	w.goOn(s, grant{reply: got})
}

// grantSlow answers a call that took long, and succeeds.
func (w *world) grantSlow(s *strand) {
	w.Sayf("%s:  %s: the slow %s is answered", w.clockText(), s.of.name, s.called.op)
	got := s.got
	if s.slow == SlowRequest {
		got = w.apply(s.of, s.called)
		w.Sayf("    %s", w.describeReply(s.called, got))
	}
	w.replied(s, got)
	w.goOn(s, grant{reply: got})
}

// goOn gives a strand its turn.
func (w *world) goOn(s *strand, g grant) {
	d := s.of
	was := d.at
	w.learn(s, g)
	w.turn(s, g)
	if s == &d.strand || was == away && d.at != away {
		w.arrive(d)
	}
}

func (w *world) arriveLate(n int) {
	m := w.messages[n]
	w.messages = append(append([]message(nil), w.messages[:n]...), w.messages[n+1:]...)
	w.Sayf("  late, from %s: %s", m.by.name, w.describeCall(m.call))
	name := m.by.callName(m.call)
	got := w.apply(m.by, m.call)
	w.Sayf("    %s", w.describeReply(m.call, got))
	became := " refused"
	if got.done {
		became = " applied"
	}
	w.Saw("late " + string(m.op) + became)
	if name == OfOperator {
		w.Saw("late change of an operator" + became)
	}
	if name == StepRecord || name == StepMark || name == Fence {
		w.Saw("late " + string(name) + became)
	}
	if name == Renewal {
		w.Saw("late renewal" + became)
	}
}

// branchOf is which of its branches a strand is.
func (w *world) branchOf(s *strand) int {
	for n, b := range s.of.branches {
		if b == s {
			return n
		}
	}
	return 0
}

// remove is what the table's time to live does.
func (w *world) remove() {
	before := w.held()
	if _, err := w.store.Delete(context.Background(), *before); err != nil {
		panic(err)
	}
	w.Saw("deleted by the table")
	w.written(change{before: before, call: call{op: opDelete}, done: true})
}
