package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Step takes one step of the handler through the record: what is recorded is its result, and what
// is not runs and is recorded. It implements [execution.Steps], and is safe for concurrent use.
func (all *steps) Step(ctx context.Context, name string, e execution.Effect) *execution.Fault {
	return all.claim.blame(all.step(ctx, name, e), name)
}

func (all *steps) step(ctx context.Context, name string, e execution.Effect) *execution.Fault {
	under, _ := execution.From(ctx)
	switch {
	case !execution.ValidStep(name):
		return stepRefused("its name is not 1 to 64 characters of [A-Za-z0-9._/-]")
	case under.Step != "":
		return stepRefused("it begins inside of another step, which would run both again")
	}
	unfit, known := all.claim.StepTypes.Load(e.Result())
	if !known {
		unfit = e.Unfit()
		all.claim.StepTypes.Store(e.Result(), unfit)
	}
	if unfit != "" {
		return stepRefused(fmt.Sprint(unfit))
	}
	under.Step = name
	s := step{
		all: all, claim: all.claim, name: name, effect: e, under: under,
		report: report.Step{Name: name, Start: time.Now(), End: report.StepFailed},
	}
	if refused := all.begin(&s); refused != nil {
		return refused
	}
	defer all.end(&s) // also where the function panics
	fault := s.do(ctx)
	s.tell(fault)
	return fault
}

// step is one step on its way. One goroutine uses it.
type step struct {
	all    *steps
	claim  *claim
	name   string
	effect execution.Effect
	under  execution.Claim
	report report.Step
	// held is what the record keeps of it when it begins, without a kind for nothing, and wasIdle
	// says that this is a start mark which stands for nothing.
	held    store.Step
	wasIdle bool
	// unseen says that an earlier execution may have begun it, although the record does not have
	// it, and promised that the claim says that it is marked.
	unseen, promised bool
	// unmarked is true while its function has begun without a start mark, and nothing says what has
	// become of it. encoding is true while its result is encoded, which may panic.
	unmarked, encoding bool
}

// stepEnds are the words for faults.
var stepEnds = map[error]report.StepEnd{
	execution.ErrStepRefused: report.StepRefused, execution.ErrStepLost: report.StepLost,
	execution.ErrLeaseLost:  report.StepLeaseLost,
	execution.ErrUnreadable: report.StepUnreadable, execution.ErrUnknownOutcome: report.StepUnknown,
}

// tell says how the step came to its end.
func (s *step) tell(fault *execution.Fault) {
	r := &s.report
	if fault != nil {
		r.End, r.ErrorType = stepEnds[fault.Kind], errortype.Of(fault.Err)
		r.Err = s.claim.documented(s.claim.blame(fault, s.name))
		return
	}
	r.ErrorType = errortype.Of(r.Err)
}

func (s *step) do(ctx context.Context) *execution.Fault {
	switch s.held.Kind {
	case store.StepValue, store.StepFailure:
		return s.resume(ctx)
	case store.StepStarted:
		if s.wasIdle {
			return s.run(ctx, false) // its start mark stands already
		}
		return s.settleOpen(ctx, false)
	case "":
		marked := s.effect.AtMostOnce() || s.claim.RefuseCrashed
		if !s.claim.RefuseCrashed {
			s.claim.Marks.learn(s.name, marked)
		}
		if marked && s.unseen {
			return s.settleOpen(ctx, true)
		}
		return s.run(ctx, marked || s.promised)
	default:
		return unreadableStep("its recorded result is of a kind that this version does not know", nil)
	}
}

// resume takes what an earlier execution recorded. It never runs the function, also where that
// cannot be read.
func (s *step) resume(ctx context.Context) *execution.Fault {
	text := s.held.Result
	if s.held.Parts != "" { // the store verifies them
		read, err := s.claim.readResult(ctx, store.Record{Key: s.claim.as.Key}.OfStep(s.held))
		switch {
		case unreadable(err):
			return unreadableStep("its recorded result cannot be read", err)
		case err != nil:
			return &execution.Fault{
				Kind:   execution.ErrStepRefused,
				Reason: "its recorded result could not be read", Err: err,
			}
		}
		text = read
	} else if !s.held.Sealed() {
		return unreadableStep("its recorded result is not the one that was written", nil)
	}
	s.report.End = report.StepResumed
	return s.accept(text, s.held.Kind)
}

// accept makes what is recorded the outcome of the effect, also the first time: a handler sees the
// same in each execution.
func (s *step) accept(text []byte, kind store.StepKind) *execution.Fault {
	s.report.Bytes = len(text)
	failure, err := s.effect.Accept(text, kind == store.StepFailure)
	if err != nil {
		return unreadableStep("its recorded result does not decode into what the step returns", nil)
	}
	s.report.Err = failure
	return nil
}

// settleOpen asks the resolver about an effect that an earlier execution may have begun. It first
// writes the start mark that is missing, if mark is true, for whoever settles the record.
func (s *step) settleOpen(ctx context.Context, mark bool) *execution.Fault {
	if mark {
		if fault := s.mark(ctx); fault != nil {
			return fault
		}
	}
	if fault := s.live(ctx); fault != nil {
		return fault
	}
	found, text, err := s.effect.Resolve(ctx, s.under)
	switch {
	case err == nil && found == execution.HasExecuted:
		fault := s.record(ctx, text, store.StepValue)
		if fault == nil {
			s.report.End = report.StepResolved
		}
		return fault
	case err == nil && found == execution.Untouched:
		s.unseen = false
		s.idle()
		return s.run(ctx, false) // its start mark stands already
	default: // nobody knows what became of the effect: the record is not released
		s.all.note(func(k *stepsKnown) { k.uncertain = true })
		return &execution.Fault{Kind: execution.ErrUnknownOutcome, Err: err}
	}
}

func (s *step) live(ctx context.Context) *execution.Fault {
	return s.all.live(ctx, execution.ErrStepRefused)
}

// run runs the function, after a start mark if that is asked for, and records what came of it.
func (s *step) run(ctx context.Context, mark bool) *execution.Fault {
	if mark {
		if fault := s.mark(ctx); fault != nil {
			return fault
		}
	}
	if fault := s.live(ctx); fault != nil { // the mark may have taken long
		s.idle()
		return fault
	}
	err := s.call(ctx)
	s.report.Err = err
	switch execution.MarkOf(err) {
	case execution.NotExecuted:
		s.idle()
		return nil
	case execution.Uncertain:
		s.all.note(func(k *stepsKnown) { k.uncertain = true })
		return nil
	case execution.Terminal:
		return s.recordRan(ctx, store.StepFailure)
	case execution.Unmarked:
	}
	if err != nil {
		return nil //nolint:nilerr // it is the outcome of the step, and its own
	}
	return s.recordRan(ctx, store.StepValue)
}

// call calls the function in a context that belongs to the step.
func (s *step) call(ctx context.Context) error {
	s.all.note(func(k *stepsKnown) {
		delete(k.idle, s.name)
		if k.held[s.name].Kind == "" {
			s.unmarked = true
		}
	})
	started := time.Now()
	s.report.Start = started
	defer func() { s.report.Took = time.Since(started) }()
	return s.effect.Run(execution.With(ctx, s.under))
}

// idle notes that a start mark of this step stands for nothing.
func (s *step) idle() {
	s.unmarked = false
	s.all.note(func(k *stepsKnown) {
		k.untouched(s.name)
		k.unseen = k.unseen.With(s.name, s.unseen)
	})
}

// mark writes the start mark. Without it the function does not run.
func (s *step) mark(ctx context.Context) *execution.Fault {
	if fault := s.live(ctx); fault != nil {
		return fault
	}
	switch err := s.write(ctx, nil, store.StepStarted); {
	case err == nil:
		return nil
	case errors.Is(err, execution.ErrLeaseLost):
		return &execution.Fault{Kind: execution.ErrLeaseLost, Err: err}
	default:
		s.all.failed(err)
		s.idle()
		return &execution.Fault{Kind: execution.ErrStepRefused, Reason: "its start mark could not be written", Err: err}
	}
}

// recordRan records what the function returned.
func (s *step) recordRan(ctx context.Context, kind store.StepKind) *execution.Fault {
	s.encoding = true
	text, err := s.effect.Text()
	s.encoding = false
	if err != nil {
		return s.lost(true, "its result has no JSON form", err)
	}
	return s.record(ctx, text, kind)
}

// record records a text, and makes it the outcome of the effect.
func (s *step) record(ctx context.Context, text []byte, kind store.StepKind) *execution.Fault {
	s.report.Bytes = len(text)
	switch err := s.write(ctx, text, kind); {
	case err == nil:
		s.report.End = report.StepRecorded
		s.unmarked = false
		return s.accept(text, kind)
	case errors.Is(err, execution.ErrLeaseLost):
		return &execution.Fault{Kind: execution.ErrLeaseLost, Err: err}
	default:
		s.all.failed(err)
		return s.lost(neverFits(err), "its result could not be recorded", err)
	}
}

// lost notes that an effect happened whose result is not recorded: the record must not be released.
func (s *step) lost(never bool, reason string, err error) *execution.Fault {
	s.all.note(func(k *stepsKnown) {
		k.lost = true
		k.never = k.never || never
	})
	return &execution.Fault{Kind: execution.ErrStepLost, Reason: reason, Err: err}
}

func unreadableStep(reason string, err error) *execution.Fault {
	return &execution.Fault{Kind: execution.ErrUnreadable, Reason: reason, Err: err}
}

// write writes the step into the record, if that is still ours. A result outlives the context: the
// effect has happened. A record that somebody has made UNKNOWN still takes one, and no start mark.
func (s *step) write(ctx context.Context, text []byte, kind store.StepKind) error {
	started := time.Now()
	defer func() { s.report.Recording += time.Since(started) }()

	c := s.claim
	end, err := c.settleEnd(ctx, transferTime(len(text)))
	s.all.failed(err)
	if kind == store.StepStarted && ctx.Err() == nil {
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
			end = deadline // nothing has happened yet
		}
	}
	ctx = context.WithoutCancel(ctx)
	if kind != store.StepStarted && !c.Repeatable {
		end = keepForLast(end) // to say that it is lost
	}

	step := store.Step{Kind: kind, Seal: store.Seal(c.as.Owner, text), Result: text}
	seen := life.Unleased(c.mine)
	seen.Steps = s.all.write(s.name, step)
	_, lease := c.protected.both()
	for failures, moves := 0, 0; moves < maxMoves; {
		now := c.Now()
		held, written, err := c.write(ctx, end, seen, c.as.Stepped(seen, lease, s.name, step, now), now)
		if err != nil {
			s.all.failed(err)
			failures++
			if !store.MayPass(err) || !pause(ctx, end, failures) {
				return err
			}
			continue
		}
		there := held.Steps[s.name]
		moves++
		switch {
		case written, there.Kind == kind && there.Seal == step.Seal: // or the reply was lost, and the write was not
			return nil
		case held.Owner == c.as.Owner && held.Status == store.StatusInProgress && there.Kind == "",
			held.Owner == c.as.Owner && held.Status != store.StatusCompleted && kind != store.StepStarted:
			others := seen.Steps
			seen = life.Unleased(held)
			seen.Steps = others
			if lease.Before(held.Lease) { // it was renewed meanwhile
				lease = held.Lease
			}
		default:
			s.all.note(func(k *stepsKnown) { k.takenBy(held) })
			return execution.ErrLeaseLost
		}
	}
	return errRestless
}
