package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

// stepFacts are what happened to a step in one delivery.
type stepFacts struct {
	// began and ended are about its function, effect is how that ended.
	began, ended bool
	effect       Effect
	// absolved: somebody who knows says that the function did nothing.
	absolved bool
	// asked: its resolver was asked. told: Step has returned, in words.
	asked bool
	told  string
}

// open reports whether nobody knows what the function did, or it still runs.
func (f stepFacts) open() bool { return f.began && !f.absolved && (!f.ended || f.effect != HappensNot) }

type strandKey struct{}

// onStrand makes the calls of the store that a step makes those of a strand.
func onStrand(ctx context.Context, s *strand) context.Context {
	return context.WithValue(ctx, strandKey{}, s)
}

// wait gives the turn back until the schedule grants what comes next.
func (s *strand) wait(at point) grant {
	s.world.arrived <- arrival{strand: s, at: at}
	return <-s.resume
}

// takeSteps runs the steps of the handler: one after the other, or, in branches, at the same time.
func (d *delivery) takeSteps(ctx context.Context, o Order) error {
	w := d.world
	if d.steps == nil {
		d.steps = make([]stepFacts, len(w.Steps))
	}
	if !w.Parallel && !w.Abandons {
		for n := range w.Steps {
			if err := d.takeStep(ctx, &d.strand, n, o); err != nil && !w.Careless {
				return err
			}
		}
		return nil
	}
	var group sync.WaitGroup
	errs := make([]error, len(w.Steps))
	branches := make([]*strand, len(w.Steps)) // all of them are known before one of them arrives
	for n := range branches {
		branches[n] = d.branch()
		branches[n].about = n
	}
	for n, b := range branches {
		group.Go(func() {
			defer func() {
				if broke := recover(); broke != nil {
					errs[n] = fmt.Errorf("%v", broke) //nolint:err113 // what a handler makes of it
				}
				w.arrived <- arrival{strand: b, at: atEnd}
			}()
			b.wait(atFork)
			errs[n] = d.takeStep(ctx, b, n, o)
		})
	}
	if w.Abandons {
		return nil
	}
	group.Wait()
	if w.Careless {
		return nil
	}
	return errors.Join(errs...)
}

// takeStep runs one step.
func (d *delivery) takeStep(ctx context.Context, s *strand, n int, o Order) error {
	w, step := d.world, d.world.Steps[n]
	var opts []idempotent.StepOption[Done]
	if step.Once && d.client.Of == Current {
		var resolver func(context.Context, idempotent.Execution) (idempotent.Resolution[Done], error)
		if step.Asks {
			resolver = func(context.Context, idempotent.Execution) (idempotent.Resolution[Done], error) {
				s.about = n
				return ask(s, atStepResolver, Done{By: foundBy(d)})
			}
		}
		opts = append(opts, idempotent.AtMostOnce(resolver))
	}
	var own error
	out, err := idempotent.Step(onStrand(ctx, s), step.Name, func(inside context.Context) (Done, error) {
		if d.dead {
			return Done{}, errDied
		}
		w.stepBegan(d, n)
		s.about = n
		g := s.wait(atStep)
		if d.dead {
			return Done{}, errDied
		}
		if of, is := commitContexts[g.effect]; is {
			_, own = d.commit(of(ctx, inside), s, 0, o)
		}
		f := &d.steps[n]
		f.ended, f.effect = true, g.effect
		done := Done{By: d.name, effect: g.effect}
		if s == &d.strand && (g.effect == Breaks || g.effect == HappensAndBreaks) {
			d.ended(Panics) // which ends the handler
		}
		switch g.effect {
		case Happens, HappensUnwritten, HappensAndBreaks:
			return done, nil
		case Breaks:
			panic(d.name)
		case CommitsInside, CommitsOutside, CommitsDetached:
			return done, own
		default:
			own = marked(g.effect, &declined{by: d.name})
			return done, own
		}
	}, opts...)
	if !d.dead {
		w.stepped(d, n, out, err, own)
	}
	return err
}

// foundBy is what a resolver finds.
func foundBy(d *delivery) string { return "the one before " + d.name }

// markOfStep is the ending that a handler has that returns the error of a step.
func markOfStep(err error) Ending {
	switch execution.MarkOf(err) {
	case execution.NotExecuted:
		return FailsNotExecuted
	case execution.Terminal:
		return FailsTerminal
	case execution.Uncertain:
		return FailsUncertain
	default:
		return Fails
	}
}

// mark is the ending that the delivery counts as.
func (d *delivery) mark() Ending {
	if d.ending == FailsInStep || d.ending == FailsInCommit {
		return d.stepMark
	}
	return d.ending
}

// open reports whether a step of the delivery keeps its record from being released: an effect may
// have happened, and is recorded nowhere.
func (d *delivery) open(held *store.Record) (name string, is bool) {
	for n, f := range d.steps {
		name = d.world.Steps[n].Name
		recorded := held != nil && held.Steps[name].Kind != "" && held.Steps[name].Kind != store.StepStarted
		switch {
		case !f.began || recorded || f.ended && f.effect == Breaks:
		case !f.ended || f.effect.happened() || f.effect == MayHappen:
			return name, true
		}
	}
	return "", false
}

// stepBegan notes that the function of a step runs.
func (w *world) stepBegan(d *delivery, n int) {
	w.moment++
	w.Sayf("    %s begins the step %s", d.name, w.Steps[n].Name)
	w.Saw("step: begun")
	w.check(&event{kind: evStepBegan, d: d, step: n})
	d.steps[n].began = true
	d.process.learned |= 1 << (2 * n)
	if w.Steps[n].Once && d.client.Of == Current {
		d.process.learned |= 2 << (2 * n)
	}
}

// stepped notes what Step has returned.
func (w *world) stepped(d *delivery, n int, out Done, err, own error) {
	w.moment++
	f := &d.steps[n]
	f.told = "returns " + out.By
	switch replayed, ok := errors.AsType[*idempotent.ReplayedError](err); {
	case ok:
		f.told = "fails for ever: " + replayed.Message
	case err != nil && err == own: //nolint:errorlint // the very value
		f.told = "its own error"
	case err != nil:
		f.told = kindOf(err)
	}
	switch {
	case err == nil && f.began:
		w.Saw("step: recorded")
	case err == nil && f.asked:
		w.Saw("step: resolved")
	case err == nil:
		w.Saw("step: resumed")
	default:
		word, _, _ := strings.Cut(f.told, ":") // without what differs from failure to failure
		w.Saw("step: " + word)
	}
	w.Sayf("    the step %s of %s %s", w.Steps[n].Name, d.name, f.told)
	d.toldLost = d.toldLost || errors.Is(err, idempotent.ErrLeaseLost)
	w.check(&event{kind: evStepped, d: d, step: n, out: out, err: err, own: own})
}

// kindOf names the error of a step.
func kindOf(err error) string {
	for kind, name := range map[error]string{
		idempotent.ErrStepRefused: "refused", idempotent.ErrStepLost: "lost", idempotent.ErrLeaseLost: "lost lease",
		idempotent.ErrUnreadable: "unreadable", idempotent.ErrUnknownOutcome: "unknown",
	} {
		if errors.Is(err, kind) {
			return name
		}
	}
	return err.Error()
}

// resolvedStep notes what the resolver of a step said. If nothing was touched, no execution before
// it stands in the way of another one.
func (w *world) resolvedStep(d *delivery, n int, v Verdict) {
	w.Saw("resolver of a step says " + string(v))
	d.steps[n].asked = true
	if v != Untouched {
		return
	}
	for _, x := range w.deliveries {
		if n < len(x.steps) {
			x.steps[n].absolved = true
		}
	}
}

// noteSteps notes what a write means for steps.
func (w *world) noteSteps(c change) {
	switch {
	case c.by == nil, c.Op == opClaim && c.before != nil, c.by == w.operator.self && c.after == nil:
		w.life++ // whatever was recorded is gone, as it is said
	}
	if c.after == nil {
		return
	}
	if c.by != nil {
		w.noteTaken(c)
	}
	if deed := w.operator.deed; c.by == w.operator.self && (deed == SettlesNotExecuted || deed == Releases) {
		w.absolve("operator", c.before)
	}
	for name, s := range c.after.Steps {
		key := recordKey{w.life, name}
		if _, known := w.recorded[key]; !known && (s.Kind == store.StepValue || s.Kind == store.StepFailure) {
			w.recorded = maps.Clone(w.recorded) // never changed in place
			if w.recorded == nil {
				w.recorded = map[recordKey]string{}
			}
			w.recorded[key] = textOf(s)
			if c.after.Status == store.StatusUnknown {
				w.Saw("step recorded although UNKNOWN")
			}
		}
	}
}

// noteTaken notes what somebody took over or released with its steps.
func (w *world) noteTaken(c change) {
	if c.takes() {
		c.by.life = w.life
		if c.Op == opSwap && !maps.EqualFunc(c.before.Steps, c.Seen.Steps, sameStep) {
			w.Saw("takeover that finds a step added after the look")
		}
		if c.Op == opSwap && c.before.Reason != store.ReasonReleased && len(c.before.Steps) > 0 {
			w.Saw("takeover of a crash with steps")
		}
	}
	if c.keepsSteps() {
		w.Saw("kept release")
		if c.before.Status == store.StatusUnknown {
			w.Saw("kept release of an UNKNOWN record")
		}
	}
}

// absolve notes that somebody has said of all steps that have no end in a record that they did
// nothing.
func (w *world) absolve(who string, held *store.Record) {
	for n, step := range w.Steps {
		if held == nil || isRecorded(held.Steps[step.Name]) {
			continue
		}
		if held.Steps[step.Name].Kind == store.StepStarted {
			w.Saw(who + " takes a start mark away")
		}
		for _, x := range w.deliveries {
			if n < len(x.steps) {
				x.steps[n].absolved = true
			}
		}
	}
}

// stepDigest takes up what is known of steps.
func (w *world) stepDigest(d *digest) {
	d.Add(w.life)
	keys := slices.SortedFunc(maps.Keys(w.recorded), func(a, b recordKey) int {
		return cmp.Or(a.life-b.life, cmp.Compare(a.name, b.name))
	})
	for _, k := range keys {
		d.Add(k.life, k.name, w.recorded[k])
	}
}

func stepsOf(d *digest, x *delivery) {
	d.Add(x.life, x.toldLost)
	for _, f := range x.steps {
		d.Add(f.began, f.ended, f.absolved, f.asked, f.effect, f.told)
	}
}
