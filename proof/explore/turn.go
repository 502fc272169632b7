package explore

import (
	"context"
	"errors"
	"slices"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// passTime lets time go on until a heartbeat acts, a lease ends, or a prepared one is nearly over.
func (w *world) passTime() {
	w.TimeSteps--
	w.pass(w.nextInstant())
	w.Sayf("%s: time has passed", w.clockText())
	w.check(&event{kind: evPassed})
}

// kill is the death of the process of a running handler.
func (w *world) kill(d *delivery) {
	w.Sayf("  the process of %s dies", d.name)
	if d.round != nil {
		w.Saw("relay dies in a delivery")
	}
	if left, _ := w.harm(d); d.client.Of != Powertools {
		*left--
	}
	w.die(d)
}

// befalls notes that a fault happens to a call.
func (w *world) befalls(d *delivery, f Fault) {
	if f == None {
		return
	}
	left, _ := w.harm(d)
	*left--
	what := "fault: "
	if d.round != nil {
		what = "fault of a relay: "
	}
	w.Saw(what + f.String())
}

// grantCall lets a call happen, or its fault.
func (w *world) grantCall(s *strand, f Fault) {
	d, c := s.of, s.called
	switch {
	case d.round != nil:
		w.grantBox(d, f)
		return
	case s.slow != None:
		w.grantSlow(s)
		return
	}
	w.sent(s, f)
	if f != Conflict || !d.conflicts { // which lasts as long as the owner works
		w.befalls(d, f)
	}
	d.conflicts = d.conflicts || f == Conflict
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
	if err := f.err(c.Op); err != nil {
		got = reply{Err: err}
	}
	if refused, ok := errors.AsType[*store.Error](got.Err); ok && f == Repeat && s.called.Op == opCommit {
		unclear := *refused
		unclear.NotApplied = false // the copy is an attempt inside of the call that was not answered
		got.Err = &unclear
	}
	w.replied(s, got)
	w.goOn(s, grant{reply: got})
}

// grantSlow answers a call that took long, and succeeds.
func (w *world) grantSlow(s *strand) {
	w.Sayf("%s:  %s: the slow %s is answered", w.clockText(), s.of.name, s.called.Op)
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
	w.granted(s, g)
	w.learn(s, g)
	w.turn(s, g)
	if s == &d.strand || was == away && d.at != away {
		w.arrive(d)
	}
}

// granted notes how a strand goes on from where it waits. What a call returns is noted elsewhere.
func (w *world) granted(s *strand, g grant) {
	d, step := s.of, ""
	if s.about >= 0 && len(w.Steps) > 0 {
		step = w.Steps[s.about].Name
	}
	switch s.at {
	case atEnding:
		w.Sayf("  the handler of %s %s", d.name, g.ending)
		if g.ending != GoesOn {
			d.ended(g.ending)
		}
	case atFork:
		what := "commit"
		if s != &d.strand && s.about >= 0 {
			what = "step " + step
		}
		w.Sayf("  %s starts its %s", d.name, what)
	case atStep:
		w.Sayf("    the step %s of %s %s", step, d.name, g.effect)
	case atStepResolver:
		w.Sayf("    the resolver of the step %s of %s says: %s", step, d.name, g.verdict)
		w.resolvedStep(d, s.about, g.verdict)
	case atResolver:
		w.Sayf("  the resolver of %s says: %s", d.name, g.verdict)
		w.resolved(d, g.verdict)
	case atDelivery:
		w.received(d.entry, g.receives)
	case atGiveUp:
		became := map[bool]string{true: "not handed over", false: "handed over"}[g.fails]
		w.Sayf("  what %s is to give up is %s", d.name, became)
		w.Saw("reconcile: " + became)
		d.asking.handed = d.asking.handed || !g.fails
	default:
	}
}

func (w *world) arriveLate(n int) {
	m := w.messages[n]
	w.messages = slices.Delete(slices.Clone(w.messages), n, n+1)
	w.Sayf("  late, from %s: %s", m.by.name, w.describeCall(m.call))
	name := m.by.callName(m.call)
	got := w.apply(m.by, m.call)
	w.Sayf("    %s", w.describeReply(m.call, got))
	became := " refused"
	if got.Done {
		became = " applied"
	}
	w.Saw("late " + string(m.Op) + became)
	w.Saw("late " + string(name) + became)
}

// remove is what the table's time to live does.
func (w *world) remove() {
	w.Sayf("  the table deletes the expired record")
	before := w.held()
	if _, err := w.store.Delete(context.Background(), *before); err != nil {
		panic(err)
	}
	w.Saw("deleted by the table")
	w.written(change{before: before, call: call{Call: calls.Call{Op: opDelete}}, done: true})
}
