package explore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

var stepRules = []rule{
	{"I8 a recorded step is never begun again", on{evStepBegan: func(w *world, e *event) string {
		held := w.held()
		return when(held != nil && w.protects(e.d) && e.d.life == w.life &&
			isRecorded(held.Steps[w.Steps[e.step].Name]),
			"which is recorded")
	}}},
	{"I8 who has lost its lease begins no step", on{evStepBegan: func(w *world, e *event) string {
		switch {
		case e.d.toldLost:
			return "although it was told that its lease is lost"
		case !e.d.clock().Before(e.d.lease.Add(w.fences)): // which a fence has moved
			return "under a lease that has ended"
		}
		return when(e.d.returned, "although its handler has returned")
	}}},
	{"I8 who says that its lease is lost writes only that an effect is", on{evSent: func(_ *world, e *event) string {
		d := e.d
		says := d.returned && d.ending == FailsInStep && errors.Is(d.own, idempotent.ErrLeaseLost) &&
			(d.mark() == Fails || d.mark() == FailsNotExecuted)
		lost := d.mayHaveLost() && e.Next.Status == store.StatusUnknown // one outage may cause both
		return when(says && !lost, "follows, and its handler says that its lease is lost")
	}}},
	{"I8 who does not own the record records nothing", on{evReplaced: func(w *world, e *event) string {
		if e.Op == opClaim || e.after.Status == store.StatusCompleted {
			return ""
		}
		owns, owner := e.d.owner == e.before.Owner && !e.takes(), e.d.owner
		if e.d == w.operator.self {
			owns, owner = true, e.after.Owner
		}
		for name, s := range e.after.Steps {
			switch {
			case sameStep(s, e.before.Steps[name]):
			case !owns:
				return fmt.Sprintf("changes the step %s of a record that it does not own", name)
			case s.Owner() != owner:
				return fmt.Sprintf("writes the step %s as somebody else", name)
			}
		}
		return ""
	}}},
	{"I8 an effect of at most once never begins twice", on{evStepBegan: func(w *world, e *event) string {
		if !w.Steps[e.step].Once && !w.Unrepeatable || e.d.client.Of != Current {
			return ""
		}
		for _, x := range w.deliveries {
			if e.step < len(x.steps) && x.life == e.d.life && x.steps[e.step].open() {
				return "which " + x.name + " has begun"
			}
		}
		return ""
	}}},
	// It is about a delivery whose resolver has said that nothing has happened: then no
	// step is open.
	{"I8 what nobody has touched executes", on{evStepped: func(_ *world, e *event) string {
		open := errors.Is(e.err, idempotent.ErrUnknownOutcome) && !e.d.steps[e.step].asked
		return when(e.d.untouched && open, "is open, although nobody has touched it")
	}}},
	{"I8 a lost step is not followed by a release", on{evChanged: func(w *world, e *event) string {
		name, open := e.d.open(e.before)
		return when(open && e.releases() && e.d != w.operator.self,
			"releases the record, and nobody recorded its step %s",
			name)
	}}},
	{"I8 what is recorded stays as long as its record lives", on{evChanged: func(w *world, e *event) string {
		operates := e.d == w.operator.self
		switch a := e.after; {
		case a != nil && a.Status == store.StatusCompleted:
			return when(len(a.Steps) > 0 || a.StepWrites > 0, "leaves steps in a completed record")
		case a == nil && operates:
			return ""
		case e.Op == opClaim && expired(*e.before, e.d.clock()):
			return when(len(a.Steps) > 0, "leaves the steps of a record that has expired")
		}
		for name, b := range e.before.Steps {
			var a store.Step
			if e.after != nil {
				a = e.after.Steps[name]
			}
			switch {
			case sameStep(a, b):
			case isRecorded(b):
				return fmt.Sprintf("takes the recorded step %s away", name)
			case a.Kind == "" && !operates && !e.mayUnmark(w, name):
				return fmt.Sprintf("takes the start mark of %s away, whose function may have begun", name)
			}
		}
		return ""
	}}},
	{"I8 a step returns the same in every execution", on{evStepped: func(w *world, e *event) string {
		f := e.d.steps[e.step]
		recorded, known := w.recorded[recordKey{e.d.life, w.Steps[e.step].Name}]
		lost := errors.Is(e.err, idempotent.ErrStepLost)
		switch {
		case e.err == nil || errors.As(e.err, new(*idempotent.ReplayedError)):
			return when(!known || recorded != f.told, "has recorded %q", recorded)
		case errors.Is(e.err, idempotent.ErrStepRefused) && f.began:
			return "was begun"
		case lost && f.began && (!f.ended || !f.effect.happened() || e.out.By != e.d.name),
			lost && !f.began && e.out.By != foundBy(e.d):
			return fmt.Sprintf("returns %q, its effect %s", e.out.By, f.effect)
		}
		own := e.err == e.own //nolint:errorlint // the very value
		return when(f.ended && !f.effect.happened() && !own, "has a function that returns %v", e.own)
	}}},
	{"I8 a crash is resumed if and only if its steps tell all", on{evChanged: func(w *world, e *event) string {
		b := e.before
		if !w.Unrepeatable || w.Resolver || e.d == w.operator.self || e.d.asks() || e.Op != opSwap ||
			e.d.client.Of != Current || b.Status != store.StatusInProgress || b.Released() || e.d.uses(b.Owner) ||
			unsettled(*b) { // I13
			return ""
		}
		resumable := b.Resumable() && !b.Unmarked
		if e.takes() && !resumable {
			return "takes over a crash whose steps do not tell all"
		}
		return when(e.after.Status == store.StatusUnknown && resumable, "makes a crash UNKNOWN whose steps tell all")
	}}},
	{"I7 a step is not lost that can be recorded", on{evStepped: func(w *world, e *event) string {
		if !w.faultless() || !w.protects(e.d) || w.operator.applied || w.expired || e.d.returned ||
			len(e.d.tries) > 0 ||
			e.d.hctx.Err() != nil {
			return ""
		}
		f := e.d.steps[e.step]
		final := errors.As(e.err, new(*idempotent.ReplayedError))
		lost := f.ended && f.effect.leavesResult() && e.err != nil && !final
		return when(lost || errors.Is(e.err, idempotent.ErrStepRefused),
			"has failed, and nothing kept it from its record: %v", e.err)
	}}},
	{"I8 an observer is told what became of steps", on{evAnswered: func(w *world, e *event) string {
		if !e.d.began {
			return ""
		}
		for _, told := range e.d.event.Steps {
			_, known := w.recorded[recordKey{e.d.life, told.Name}]
			for n, f := range e.d.steps {
				resumed := told.End == report.StepResumed
				switch {
				case w.Steps[n].Name != told.Name:
				case resumed && f.began:
					return fmt.Sprintf("and an observer is told that its step %s was resumed, which ran", told.Name)
				case !known && (resumed || told.End == report.StepRecorded || told.End == report.StepResolved):
					return fmt.Sprintf("and an observer is told that its step %s is recorded, which is not", told.Name)
				}
			}
		}
		return ""
	}}},
}

// isRecorded reports whether a step has its outcome.
func isRecorded(s store.Step) bool { return s.Kind == store.StepValue || s.Kind == store.StepFailure }

// releases reports whether a change is the release of an execution.
func (c change) releases() bool {
	return c.by.began && c.before != nil && c.by.uses(c.before.Owner) && (c.after == nil || c.keepsSteps())
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

// mayHaveLost reports whether the delivery knows of an effect that may have happened and that it
// could not record.
func (d *delivery) mayHaveLost() bool {
	return slices.ContainsFunc(d.steps, func(f stepFacts) bool {
		return f.told == "lost" || f.began && (!f.ended || f.effect == MayHappen)
	})
}
