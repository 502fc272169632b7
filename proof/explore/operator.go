package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

var operatorRules = []rule{
	{"I11 an operator and an owner never both win", on{
		// operatorChangesWhatItWasShown looks at the change of an operator that was applied.
		evWritten: func(w *world, e *event) string {
			o, b, a := w.operator, e.before, e.after
			if e.d != o.self {
				return ""
			}
			shown := o.shown.Record
			switch {
			case o.denied:
				return "comes after it was told that nothing was changed"
			case o.applied:
				return "is applied twice"
			case b.Status != shown.Status || b.Owner != shown.Owner || b.Reason != shown.Reason ||
				!b.Lease.Equal(shown.Lease):
				return "is one of a record that it was not shown"
			case b.Status == store.StatusInProgress && w.now.Before(b.Lease):
				return "is one of a live claim"
			case a == nil:
				return ""
			case a.SettledBy == "" || a.SettledReason == "" || a.SettledAt.IsZero():
				return "does not leave who, when and why"
			case a.Owner == b.Owner || w.nameOfToken(a.Owner) != "":
				return "leaves an owner that something may still be on its way from"
			case len(a.Steps) > 0 && a.Attention == "":
				return "leaves an execution that stopped between two steps on no list"
			}
			return when(len(a.Steps) == 0 && a.Attention != "", "leaves the record on the list of those to settle")
		},
		// verdictStays is the part of I11 that is about owners.
		evChanged: func(w *world, e *event) string {
			return when(e.d.overruled && !expired(*e.before, e.d.clock()),
				"changes the record after the operator %s", w.operator.deed)
		},
		evDone: func(w *world, _ *event) string {
			switch o := w.operator; {
			case o.err == nil && !o.applied:
				return "and nothing was changed"
			case o.err != nil && !o.applied && o.fault == None && w.unchangedFor(o):
				return fmt.Sprintf("and is told %v, and nothing has changed", o.err)
			default:
				return when(o.denied && o.applied, "and is told that nothing was changed")
			}
		},
		evAnswered: func(w *world, e *event) string {
			d := e.d
			if !d.overruled {
				return ""
			}
			if d.event.Settlement == report.Completed || d.event.Settlement == report.Released {
				return fmt.Sprintf("after the operator %s, and says that its record is %s", w.operator.deed,
					d.event.Settlement)
			}
			// Of a record that belongs to another request, or became UNKNOWN after the verdict, the
			// own result is told.
			theirs := d.shown.Fingerprint == d.fingerprint && d.shown.Status != store.StatusUnknown
			stores := (d.answers() || d.mark() == FailsTerminal) && !d.spoiled()
			return when(theirs && stores && w.faultless() && !superseded(d.err) && d.event.Outcome != report.Replayed,
				"after the operator %s", w.operator.deed)
		},
	}},
}

// Deed is what an operator does to the record that it was shown.
type Deed string

// The deeds.
const (
	SettlesExecuted    Deed = "settles it as executed"
	SettlesNotExecuted Deed = "settles it as not executed"
	SettlesFailed      Deed = "settles it as failed"
	Releases           Deed = "releases it"
	Deletes            Deed = "deletes it"
	// SettlesStep and FailsStep give the first step of the handler an end, which has begun and has
	// none.
	SettlesStep Deed = "settles its step as executed"
	FailsStep   Deed = "settles its step as failed"
)

// AllDeeds are all of them.
func AllDeeds() []Deed {
	return []Deed{SettlesExecuted, SettlesNotExecuted, SettlesFailed, Releases, Deletes}
}

// StepDeeds are those about a step.
func StepDeeds() []Deed { return []Deed{SettlesStep, FailsStep} }

// completes reports whether a deed gives the record a result.
func (d Deed) completes() bool { return d == SettlesExecuted || d == SettlesFailed }

// operator is a person with package operate: it is shown the record at one moment, and does
// something to it at another.
type operator struct {
	*operate.Operator

	world *world
	// self stands for the operator where a delivery is asked who did something.
	self *delivery
	// shown is the record that it has looked at, if any.
	shown *operate.Shown
	// deed and fault are what it does and what happens to that, once it has done it: acted.
	deed  Deed
	fault Fault
	acted bool
	err   error
	// applied: its change was made, at some time. denied: it was told that nothing was changed.
	applied, denied bool
}

func newOperator(w *world) *operator {
	o := &operator{world: w}
	o.self = &delivery{strand: w.newStrand(nil), client: &client{name: "operator"}, name: "the operator"}
	o.self.die()
	o.self.at = atEnd
	o.Operator = operate.New(called(o.send), operate.Config{Clock: func() time.Time { return w.now }})
	return o
}

// look shows the operator the record.
func (w *world) look() {
	s, err := w.operator.Inspect(context.Background(), w.recordKey)
	if err != nil {
		panic(err)
	}
	w.operator.shown = &s
	w.Saw("operator is shown: " + string(s.State))
	w.Sayf("  the operator is shown %s", w.describe(s.Record))
}

// do lets the operator act on what it was shown, and its message meet a fault.
func (w *world) do(d Deed, f Fault) {
	o := w.operator
	o.deed, o.fault, o.acted = d, f, true
	w.befalls(o.self, f)
	act := operate.Act{By: "the operator", Why: "because"}
	ctx := context.Background()
	w.Sayf("  the operator %s %s", d, f)
	switch d {
	case SettlesExecuted:
		_, o.err = o.Settle(ctx, *o.shown,
			operate.Executed(fmt.Appendf(nil, `{"by":%q,"amount":%d}`, o.self.name, w.amountOf(o.shown.Record))), act)
	case SettlesNotExecuted:
		_, o.err = o.Settle(ctx, *o.shown, operate.NotExecuted(), act)
	case SettlesFailed:
		_, o.err = o.Settle(ctx, *o.shown, operate.Failed("declined", "declined "+o.self.name), act)
	case Releases:
		_, o.err = o.Release(ctx, *o.shown, act)
	case SettlesStep:
		_, o.err = o.Settle(ctx, *o.shown,
			operate.StepExecuted(w.Steps[0].Name, fmt.Appendf(nil, "%q", o.self.name)), act)
	case FailsStep:
		_, o.err = o.Settle(ctx, *o.shown,
			operate.StepFailed(w.Steps[0].Name, "declined", "declined "+o.self.name), act)
	case Deletes:
		_, o.err = o.Delete(ctx, *o.shown, act)
	}
	o.denied = o.err != nil && !errors.Is(o.err, operate.ErrOutcomeUnknown)
	became := "is done"
	if o.err != nil {
		became = o.err.Error()
	}
	w.Saw("operator " + string(d) + ": " + map[bool]string{true: "done", false: "not done"}[o.err == nil])
	w.Sayf("    the operator: %s", became)
	w.check(&event{kind: evDone})
}

// amountOf is what the request of a record is about.
func (w *world) amountOf(r store.Record) int64 {
	for _, d := range w.deliveries {
		if d.fingerprint == r.Fingerprint {
			return d.order.Amount
		}
	}
	return 0
}

// send makes a call of the operator. Its message may be late, or lost, or arrive twice.
func (o *operator) send(ctx context.Context, c call) (got reply) {
	w, f := o.world, o.fault
	if c.Op == opGet {
		return c.Make(ctx, w.store)
	}
	if f.applied() {
		got = w.apply(o.self, c) //nolint:contextcheck // the world looks on its own
		w.Sayf("    %s", w.describeReply(c, got))
	}
	if f.leavesMessage() {
		w.messages = append(w.messages, message{by: o.self, call: c})
	}
	if err := f.err(c.Op); err != nil {
		return reply{Err: err}
	}
	return got
}

// mayOperate makes choices of what the operator does.
func (w *world) mayOperate() {
	o := w.operator
	switch {
	case len(w.Deeds) == 0 || o.acted:
		return
	case o.shown == nil:
		if w.held() != nil {
			w.may(w.look)
		}
		return
	}
	for _, d := range w.Deeds {
		w.may(func() { w.do(d, None) })
		for _, f := range w.Faults {
			// Its message neither dies nor waits for long.
			if w.MaxFaults > 0 && f <= Repeat && !f.kills() && (w.Strikes == nil || w.Strikes(f, OfOperator)) {
				w.may(func() { w.do(d, f) })
			}
		}
	}
}

// overruled notes what a change of the operator means for those who have executed. What they bring
// does not count any more, unless the record was deleted: then nothing is left that could say so.
func (w *world) overruled(c change) {
	w.operator.applied = true
	w.Saw("operator applied: " + string(w.operator.deed))
	w.unknown = true // from now on not all answers are equal
	for _, d := range w.deliveries {
		if !d.began && !d.asking.taken {
			continue
		}
		d.overruled = c.after != nil
		if !w.operator.deed.completes() {
			d.released, d.unknownUntil = true, time.Time{}
		}
	}
	if c.after == nil && c.before.Status == store.StatusCompleted {
		// Who is still under way may have seen it; nobody is bound by it any more.
		w.commits[len(w.commits)-1].expiry = w.now
	}
}

// deleted reports whether an operator has deleted a record: also one that was completed, while its
// lease lived.
func (o *operator) deleted() bool { return o.applied && o.deed == Deletes }

// forgetsVerdict notes that the record is gone, or replaced: with it the verdict of the operator.
func (w *world) forgetsVerdict(c change) {
	if c.after != nil && c.Op != opClaim {
		return
	}
	for _, d := range w.deliveries {
		d.overruled = false
	}
}

func (w *world) operatorState(d *digest) {
	o := w.operator
	if o.shown == nil {
		return
	}
	w.record(d, o.shown.Record)
	d.Add(o.acted, o.applied, o.denied, o.deed)
}

// unchangedFor reports whether the record is as the operator was shown it, and nobody holds it.
func (w *world) unchangedFor(o *operator) bool {
	held := w.held()
	return held != nil && held.Status == store.StatusUnknown && held.Matches(o.shown.Record) &&
		(o.deed.completes() || o.deed == SettlesNotExecuted) && !expired(*held, w.now)
}
