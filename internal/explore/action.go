package explore

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent"
)

type actionKind int

const (
	actStart   actionKind = iota // a client sends its request
	actCall                      // a call of the store is applied and answered, or meets its fault
	actReturn                    // a handler returns
	actDie                       // the process of a running handler dies
	actResolve                   // a resolver answers
	actMessage                   // a message arrives late
	actLease                     // the clock goes to the end of the held lease
	actExpiry                    // the clock goes to the expiry of the held record
	actRemove                    // the table deletes an expired record
	actEnd                       // nothing more happens
)

type action struct {
	kind    actionKind
	client  *client
	d       *delivery
	fault   Fault
	ending  Ending
	verdict Verdict
	message int
}

// actions are the choices of the schedule in this state. What goes on without a detour comes first, so that the first
// schedule which breaks something is a simple one.
func (w *world) actions() []action {
	var all []action
	running := false // or still to come
	for _, d := range w.deliveries {
		if d.at != atEnd && !d.dead {
			running = true
			all = w.actionsOf(d, all)
		}
	}
	for n := range w.messages {
		all = append(all, action{kind: actMessage, message: n})
	}
	for n, c := range w.clients {
		running = running || len(c.sent) == 0
		if w.maySend(n, c) {
			all = append(all, action{kind: actStart, client: c})
		}
	}
	all = append(all, w.steps()...)
	if !running {
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
		alike := n > 0 && w.clients[n-1].Client == c.Client
		return !alike || len(w.clients[n-1].sent) > 0
	default:
		last := c.sent[sent-1]
		return last.dead || last.at == atEnd && (last.err != nil || last.panicked != nil)
	}
}

func (w *world) actionsOf(d *delivery, all []action) []action {
	switch d.at {
	case atCall:
		all = append(all, action{kind: actCall, d: d})
		for _, f := range w.Faults {
			if w.faults > 0 && (d.called.op != opGet || !f.leavesMessage()) {
				all = append(all, action{kind: actCall, d: d, fault: f})
			}
		}
	case atEnding:
		for _, e := range w.Endings {
			all = append(all, action{kind: actReturn, d: d, ending: e})
		}
		if w.faults > 0 && w.mayDie() {
			all = append(all, action{kind: actDie, d: d})
		}
	case atResolver:
		all = append(all, action{kind: actResolve, d: d, verdict: StillUnknown})
		if d.clock().Before(d.lease) { // its context has ended long before
			all = append(all, action{kind: actResolve, d: d, verdict: Executed}, action{kind: actResolve, d: d, verdict: Untouched})
		}
	case atEnd:
	}
	return all
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
	if held == nil {
		return nil
	}
	if w.leaseSteps > 0 && held.Status == idempotent.StatusInProgress && w.fastest().Before(held.Lease) {
		all = append(all, action{kind: actLease})
	}
	if w.expirySteps > 0 && w.fastest().Before(held.Expiry) {
		all = append(all, action{kind: actExpiry})
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
		w.grantCall(a.d, a.fault)
	case actReturn:
		w.sayf("  the handler of %s %s", a.d.name, a.ending)
		a.d.ended(a.ending)
		w.goOn(a.d, grant{ending: a.ending})
	case actDie:
		w.sayf("  the process of %s dies in the handler", a.d.name)
		w.faults--
		w.die(a.d)
	case actResolve:
		w.sayf("  the resolver of %s says: %s", a.d.name, a.verdict)
		w.resolved(a.d, a.verdict)
		w.goOn(a.d, grant{verdict: a.verdict})
	case actMessage:
		w.arriveLate(a.message)
	case actLease:
		w.leaseSteps--
		w.advance(w.held().Lease)
		w.sayf("%s: the lease ends", w.now.Format(clockFormat))
	case actExpiry:
		w.expirySteps--
		w.expired = true
		w.advance(w.held().Expiry.Add(time.Second)) // DynamoDB deletes after it
		w.sayf("%s: the expiry has passed", w.now.Format(clockFormat))
	case actRemove:
		w.sayf("  the table deletes the expired record")
		w.remove()
	case actEnd:
	}
}

// grantCall lets a call of the store happen, or its fault.
func (w *world) grantCall(d *delivery, f Fault) {
	c := d.called
	w.sent(d, c)
	if f != None {
		w.faults--
		w.saw("fault: " + f.String())
	}
	w.sayf("  %s: %s %s", d.name, w.describeCall(c), f)
	var got reply
	if f.applied() {
		got = w.apply(d, c)
		w.sayf("    %s", w.describeReply(c, got))
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
	w.replied(d, c, got)
	w.goOn(d, grant{reply: got})
}

// goOn gives a delivery its turn.
func (w *world) goOn(d *delivery, g grant) {
	w.learn(d, g)
	w.turn(d, g)
	w.arrive(d)
}

func (w *world) arriveLate(n int) {
	m := w.messages[n]
	w.messages = append(append([]message(nil), w.messages[:n]...), w.messages[n+1:]...)
	w.sayf("  late, from %s: %s", m.by.name, w.describeCall(m.call))
	got := w.apply(m.by, m.call)
	w.sayf("    %s", w.describeReply(m.call, got))
	if got.done {
		w.saw("late " + string(m.op) + " applied")
	} else {
		w.saw("late " + string(m.op) + " refused")
	}
}

// remove is what the table's time to live does.
func (w *world) remove() {
	before := w.held()
	if _, err := w.store.Delete(context.Background(), *before); err != nil {
		panic(err)
	}
	w.saw("deleted by the table")
	w.written(change{before: before, call: call{op: opDelete}, done: true})
}
