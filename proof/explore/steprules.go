package explore

import (
	"errors"
	"fmt"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func leaseOutlivedByExpiry(w *world, e *event) string {
	if e.kind != evWritten || e.after == nil || e.after.Status != store.StatusInProgress ||
		!e.after.Expiry.Before(e.after.Lease) ||
		w.nameOfToken(e.after.Owner) == "" { // nobody's lease has ended
		return ""
	}
	return fmt.Sprintf("the %s of %s leaves a record that expires %v before its lease ends",
		e.by.callName(e.call), e.by.name, e.after.Lease.Sub(e.after.Expiry))
}

// isRecorded reports whether a step has its outcome.
func isRecorded(s store.Step) bool { return s.Kind == store.StepValue || s.Kind == store.StepFailure }

func recordedIsNeverBegunAgain(w *world, e *event) string {
	if e.kind != evStepBegan {
		return ""
	}
	name, held := w.Steps[e.step].Name, w.held()
	live := w.now.Before(w.protectedUntil(e.d))
	if held != nil && live && e.d.life == w.life && isRecorded(held.Steps[name]) {
		return fmt.Sprintf("%s begins the step %s, which is recorded", e.d.name, name)
	}
	return ""
}

func lostLeaseBeginsNothing(w *world, e *event) string {
	if e.kind != evStepBegan {
		return ""
	}
	name := w.Steps[e.step].Name
	switch {
	case e.d.toldLost:
		return fmt.Sprintf("%s begins the step %s although it was told that its lease is lost", e.d.name, name)
	case !e.d.clock().Before(e.d.lease.Add(w.fences)): // which a fence has moved
		return fmt.Sprintf("%s begins the step %s under a lease that has ended", e.d.name, name)
	case e.d.returned:
		return fmt.Sprintf("%s begins the step %s although its handler has returned", e.d.name, name)
	}
	return ""
}

func onlyTheOwnerRecords(w *world, e *event) string {
	if e.kind != evWritten || e.by == nil || e.before == nil || e.after == nil || e.op == opClaim ||
		e.after.Status == store.StatusCompleted {
		return ""
	}
	owns, owner := e.by.owner == e.before.Owner && !e.takes(), e.by.owner
	if e.by == w.operator.self {
		owns, owner = true, e.after.Owner
	}
	for name, s := range e.after.Steps {
		switch b := e.before.Steps[name]; {
		case sameStep(s, b):
		case !owns:
			return fmt.Sprintf("%s changes the step %s of a record that it does not own", e.by.name, name)
		case s.Owner() != owner:
			return fmt.Sprintf("%s writes the step %s as somebody else", e.by.name, name)
		}
	}
	return ""
}

func atMostOnce(w *world, e *event) string {
	if e.kind != evStepBegan || !w.Steps[e.step].Once && !w.Unrepeatable || e.d.client.Of != Current {
		return ""
	}
	for _, x := range w.deliveries {
		if e.step < len(x.steps) && x.life == e.d.life && x.steps[e.step].open() {
			return fmt.Sprintf("%s begins the step %s, which %s has begun", e.d.name, w.Steps[e.step].Name, x.name)
		}
	}
	return ""
}

// ends reports whether a change is the release of an execution.
func (c change) releases() bool {
	return c.by != nil && c.by.began && c.before != nil && c.by.uses(c.before.Owner) &&
		(c.after == nil || c.keepsSteps())
}

func lostIsNotReleased(w *world, e *event) string {
	if e.kind != evWritten || !e.releases() || e.by == w.operator.self {
		return ""
	}
	if name, open := e.by.open(e.before); open {
		return fmt.Sprintf("%s is released although nobody recorded its step %s", e.by.name, name)
	}
	return ""
}

func recordedStays(w *world, e *event) string {
	if e.kind != evWritten || e.by == nil || e.before == nil {
		return ""
	}
	switch {
	case e.after != nil && e.after.Status == store.StatusCompleted:
		if len(e.after.Steps) > 0 || e.after.StepWrites > 0 {
			return "a completed record has steps"
		}
		return ""
	case e.by == w.operator.self && e.after == nil:
		return ""
	case e.op == opClaim && expired(*e.before, e.by.clock()):
		if len(e.after.Steps) > 0 {
			return "a new record has the steps of one that has expired"
		}
		return ""
	}
	for name, b := range e.before.Steps {
		var a store.Step
		if e.after != nil {
			a = e.after.Steps[name]
		}
		switch {
		case sameStep(a, b):
		case isRecorded(b):
			return fmt.Sprintf("the %s of %s takes the recorded step %s away", e.by.callName(e.call), e.by.name, name)
		case a.Kind == "" && e.by != w.operator.self && !e.mayUnmark(w, name):
			return fmt.Sprintf("the %s of %s takes the start mark of %s away, whose function may have begun",
				e.by.callName(e.call), e.by.name, name)
		}
	}
	return ""
}

// mayUnmark reports whether who has changed the record knows that a start mark stands for nothing.
func (c change) mayUnmark(w *world, name string) bool {
	if c.by.asks() {
		return c.by.asking.verdict == Untouched
	}
	for n, f := range c.by.steps {
		if w.Steps[n].Name == name {
			mine := c.before.Steps[name].Owner() == c.by.owner
			return (mine || f.absolved) && !f.open()
		}
	}
	return false
}

func stepReturnsWhatIsRecorded(w *world, e *event) string {
	if e.kind != evStepped {
		return ""
	}
	name, f := w.Steps[e.step].Name, e.d.steps[e.step]
	recorded, known := w.recorded[recordKey{e.d.life, name}]
	_, final := errors.AsType[*idempotent.ReplayedError](e.err)
	switch {
	case e.err == nil || final:
		if !known || recorded != f.told {
			return fmt.Sprintf("the step %s of %s %s, and recorded is %q", name, e.d.name, f.told, recorded)
		}
	case errors.Is(e.err, idempotent.ErrStepRefused) && f.began:
		return fmt.Sprintf("the step %s of %s says that it was not begun, and it was", name, e.d.name)
	case errors.Is(e.err, idempotent.ErrStepLost) && f.began &&
		(!f.ended || !f.effect.happened() || e.out.By != e.d.name),
		errors.Is(e.err, idempotent.ErrStepLost) && !f.began && e.out.By != foundBy(e.d):
		return fmt.Sprintf("the step %s of %s is lost and returns %q, its effect %s", name, e.d.name,
			e.out.By, f.effect)
	case f.ended && !f.effect.happened() && e.err != e.own: //nolint:errorlint // the very value
		return fmt.Sprintf("the step %s of %s returns %v, and its function %v", name, e.d.name, e.err, e.own)
	}
	return ""
}

func crashIsResumedIfStepsTellAll(w *world, e *event) string {
	if e.kind != evWritten || !w.Unrepeatable || w.Resolver || e.by == nil || e.by == w.operator.self ||
		e.op != opSwap || e.by.client.Of != Current ||
		e.before.Status != store.StatusInProgress || e.before.Reason == store.ReasonReleased ||
		e.by.uses(e.before.Owner) {
		return ""
	}
	switch resumable := e.before.Resumable() && !e.before.Unmarked; {
	case e.by.asks(), unsettled(*e.before), e.before.Released(): // I13
		return ""
	case e.takes() && !resumable:
		return e.by.name + " takes over a crash whose steps do not tell all"
	case e.after.Status == store.StatusUnknown && resumable:
		return e.by.name + " makes a crash UNKNOWN whose steps tell all"
	}
	return ""
}

// untouchedExecutes is about a delivery whose resolver has said that nothing has happened: then no
// step is open.
func untouchedExecutes(w *world, e *event) string {
	if e.kind == evStepped && e.d.untouched && errors.Is(e.err, idempotent.ErrUnknownOutcome) &&
		!e.d.steps[e.step].asked {
		return fmt.Sprintf("the step %s of %s is open, although nobody has touched it", w.Steps[e.step].Name, e.d.name)
	}
	return ""
}

func stepIsRecorded(w *world, e *event) string {
	if e.kind != evStepped || w.faults < w.MaxFaults || !w.now.Before(w.protectedUntil(e.d)) || w.operator.applied ||
		w.expired || e.d.returned || len(e.d.tries) > 0 ||
		e.d.hctx.Err() != nil {
		return ""
	}
	f := e.d.steps[e.step]
	_, final := errors.AsType[*idempotent.ReplayedError](e.err)
	if f.ended && f.effect.leavesResult() && e.err != nil && !final {
		return fmt.Sprintf("the step %s of %s is not recorded, and nothing kept it from that: %v", w.Steps[e.step].Name,
			e.d.name, e.err)
	}
	if errors.Is(e.err, idempotent.ErrStepRefused) {
		return fmt.Sprintf("the step %s of %s is refused, and nothing kept it from running: %v", w.Steps[e.step].Name,
			e.d.name, e.err)
	}
	return ""
}

func lostLeaseWritesNothing(_ *world, e *event) string {
	if e.kind != evSent || !e.by.returned || e.by.ending != FailsInStep ||
		!errors.Is(e.by.own, idempotent.ErrLeaseLost) ||
		e.by.mark() != Fails && e.by.mark() != FailsNotExecuted {
		return ""
	}
	if e.by.mayHaveLost() && e.next.Status == store.StatusUnknown {
		return "" // one outage may cause both
	}
	return fmt.Sprintf("the handler of %s says that its lease is lost, and a %s follows", e.by.name,
		e.by.callName(e.call))
}

// mayHaveLost reports whether the delivery knows of an effect that may have happened and that it
// could not record.
func (d *delivery) mayHaveLost() bool {
	for _, f := range d.steps {
		if f.told == "lost" || f.began && (!f.ended || f.effect == MayHappen) {
			return true
		}
	}
	return false
}

func stepsAreReported(w *world, e *event) string {
	if e.kind != evAnswered || !e.d.began {
		return ""
	}
	for _, told := range e.d.event.Steps {
		for n, f := range e.d.steps {
			_, known := w.recorded[recordKey{e.d.life, told.Name}]
			switch {
			case w.Steps[n].Name != told.Name:
			case told.End == report.StepResumed && f.began:
				return fmt.Sprintf("an observer is told that the step %s of %s was resumed, and it ran",
					told.Name, e.d.name)
			case !known && (told.End == report.StepResumed || told.End == report.StepRecorded ||
				told.End == report.StepResolved):
				return fmt.Sprintf("an observer is told that the step %s of %s is recorded, and it is not",
					told.Name, e.d.name)
			}
		}
	}
	return ""
}
