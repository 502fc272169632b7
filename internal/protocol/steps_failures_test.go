package protocol_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

func stepKinds() []column {
	return []column{
		{name: "a plain step"},
		{name: "`AtMostOnce`", once: true, marks: true},
		{
			name: "`Unrepeatable`", marks: true,
			opts: []idempotent.Option{unrepeatable()},
		},
		{name: "`Repeatable`", opts: []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}},
	}
}

// stepFailure is a row of the table: what goes wrong in the first delivery, in its step "charge" or
// behind it.
type stepFailure struct {
	name string
	// rule is what happens to the calls of the store.
	rule func(c calls.Call) calls.Fault
	// charge is the function of the step; nil for one that succeeds. behind is what the handler
	// does after the step.
	charge func(ctx context.Context, s *shop) (chargeOf, error)
	behind func() error
	// marks is true if it can only happen to a step with a start mark.
	marks bool
	// kills is true if the process dies of it, and runsOn if the handler returns while the step
	// runs. retyped is true if the result is of another type then.
	kills, runsOn, retyped bool
}

// chargeOf is the result of the step.
type chargeOf struct {
	ID  string  `json:"id"`
	Fee float64 `json:"fee"`
}

// writes is a rule for the write of this kind to the step "charge".
func writes(kind store.StepKind, fault calls.Fault) rule { return writesOf("charge", kind, fault) }

// writesOf is a rule for the write of this kind to a step.
func writesOf(step string, kind store.StepKind, fault calls.Fault) rule {
	return when(fault, func(c calls.Call) bool { return stepWrite(c, step, kind) })
}

// downFrom is a rule for all calls from that write on.
func downFrom(kind store.StepKind) func(calls.Call) calls.Fault {
	down, begins := false, writes(kind, calls.Deny)
	return func(c calls.Call) calls.Fault {
		down = down || begins(c) != calls.Pass
		if down {
			return calls.Deny
		}
		return calls.Pass
	}
}

func stepFailures() []stepFailure {
	fails := func(mark func(error) error) func(context.Context, *shop) (chargeOf, error) {
		return func(context.Context, *shop) (chargeOf, error) { return chargeOf{}, mark(errCard) }
	}
	return []stepFailure{
		{name: "the function returns an error", charge: fails(func(err error) error { return err })},
		{name: "it returns `NotExecuted(err)`", charge: fails(idempotent.NotExecuted)},
		{name: "it returns `Terminal(err)`", charge: fails(idempotent.Terminal)},
		{name: "it returns `Uncertain(err)`", charge: fails(idempotent.Uncertain)},
		{name: "it panics", charge: func(context.Context, *shop) (chargeOf, error) { panic("charge") }},
		{name: "time is up while it runs", charge: func(ctx context.Context, _ *shop) (chargeOf, error) {
			<-ctx.Done()
			return chargeOf{}, ctx.Err()
		}},
		{
			name: "the process dies in it, or before its result is recorded", kills: true,
			rule: writes(store.StepValue, calls.DieBefore),
		},
		{
			name: "the process dies when its result is recorded", kills: true,
			rule: writes(store.StepValue, calls.DieAfter),
		},
		{name: "the handler fails behind it", behind: func() error { return errCard }},
		{name: "the handler panics behind it", behind: func() error { panic("behind") }},
		{
			name: "the lease is lost while it runs, and somebody takes over",
			charge: func(_ context.Context, s *shop) (chargeOf, error) {
				s.change(func(r *store.Record) { r.Owner, r.Steps = "someone", nil })
				return chargeOf{ID: "ch-1"}, nil
			},
		},
		{name: "its result has no JSON form", charge: func(context.Context, *shop) (chargeOf, error) {
			return chargeOf{ID: "ch-1", Fee: math.NaN()}, nil
		}},
		{
			name: "its result is too large",
			charge: func(context.Context, *shop) (chargeOf, error) {
				return chargeOf{ID: strings.Repeat("x", 100)}, nil
			},
		},
		{
			name: "the store is down when its start mark is written", marks: true,
			rule: writes(store.StepStarted, calls.Deny),
		},
		{name: "the store is down when its result is recorded", rule: writes(store.StepValue, calls.Deny)},
		{name: "the same, and it stays down", rule: downFrom(store.StepValue)},
		{name: "the handler fails while it still runs", runsOn: true},
		{
			name: "its result has another type in the next version", behind: func() error { return errCard },
			retyped: true,
		},
	}
}

// stepStory is one row in one column: a delivery in which something goes wrong, and the next one.
type stepStory struct {
	t       *testing.T
	failure stepFailure
	kind    column
	// ran and asked count the calls of the function and of the resolver.
	ran, asked int
	first      *shop
	// stepErr is what the step returned in the first delivery.
	stepErr error
	// left are the goroutines of the first delivery that it did not wait for.
	left chan struct{}
}

// handler returns the handler of a delivery. It reserves in one step and charges in another.
func (s *stepStory) handler(on *shop, goesWrong bool) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		if _, err := idempotent.Step(ctx, "reserve",
			func(context.Context) (string, error) { return "r-1", nil }); err != nil {
			return receipt{}, err
		}
		if !goesWrong && s.failure.retyped {
			_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { s.ran++; return 1, nil })
			return receipt{Charge: 1, Amount: o.Amount}, err
		}
		var opts []idempotent.StepOption[chargeOf]
		if s.kind.once {
			opts = append(opts, idempotent.AtMostOnce(func(context.Context,
				idempotent.Execution,
			) (idempotent.Resolution[chargeOf], error) {
				s.asked++
				return idempotent.Executed(chargeOf{ID: "ch-1"}), nil
			}))
		}
		charge := func(ctx context.Context) (chargeOf, error) {
			s.ran++
			if goesWrong && s.failure.charge != nil {
				return s.failure.charge(ctx, on)
			}
			return chargeOf{ID: "ch-1"}, nil
		}
		if goesWrong && s.failure.runsOn {
			return receipt{}, s.leave(ctx, charge, opts)
		}
		_, err := idempotent.Step(ctx, "charge", charge, opts...)
		if goesWrong {
			s.stepErr = err
		}
		if err == nil && goesWrong && s.failure.behind != nil {
			err = s.failure.behind()
		}
		return receipt{Charge: 1, Amount: o.Amount}, err
	}
}

// leave begins the step in a goroutine, and fails without waiting for it.
func (s *stepStory) leave(ctx context.Context, charge func(context.Context) (chargeOf, error),
	opts []idempotent.StepOption[chargeOf],
) error {
	begun := make(chan struct{})
	go func() {
		_, _ = idempotent.Step(ctx, "charge", func(ctx context.Context) (chargeOf, error) {
			close(begun)
			<-s.left
			_, _ = charge(ctx)
			return chargeOf{}, errCard
		}, opts...)
	}()
	<-begun
	return errCard
}

func (s *stepStory) deliver(rule func(calls.Call) calls.Fault, goesWrong bool) error {
	on := s.first.sandbox(rule, s.kind.opts...)
	on.do = s.handler(on, goesWrong)
	defer func() { _ = recover() }()
	_, err := on.handle(5)
	return err
}

// play tells the cell: what is left of the record, and what the next delivery does.
func (s *stepStory) play() string {
	s.t.Helper()
	s.first = newShopOn(s.t, smallStore(100), nil, s.kind.opts...)
	s.left = make(chan struct{})
	_ = s.deliver(s.failure.rule, true)
	left := s.first.mustRecord()
	close(s.left)
	synctest.Wait() // for what still runs
	s.ran, s.asked = 0, 0

	time.Sleep(leaseOfCrashes)
	err := s.deliver(nil, false)
	return leftInWords(left, s.nextInWords(err))
}

func leftInWords(left store.Record, next string) string {
	switch {
	case left.Status == store.StatusUnknown && next == unknownNext:
		return unknownNext
	case left.Status == store.StatusUnknown:
		return unknownNext + "; " + next
	case left.Status == store.StatusCompleted:
		return "completed; " + next
	case left.Reason == store.ReasonReleased:
		return "released; " + next
	default:
		return "in progress; " + next
	}
}

// unknownNext is the word for a record that is UNKNOWN, and for a delivery that makes it so or
// finds it so.
const unknownNext = "`UNKNOWN`"

func (s *stepStory) nextInWords(err error) string {
	s.t.Helper()
	assert.LessOrEqual(s.t, s.ran+s.asked, 1)
	_, replayed := errors.AsType[*idempotent.ReplayedError](err)
	switch {
	case s.ran == 1 && err == nil:
		return "again"
	case s.asked == 1 && err == nil:
		return "asked"
	case s.ran+s.asked > 0:
		s.t.Errorf("the next delivery ran it and failed: %v", err)
		return "?"
	case err == nil:
		return "goes on"
	case replayed:
		return "the same error"
	case errors.Is(err, idempotent.ErrUnknownOutcome):
		return unknownNext
	case errors.Is(err, idempotent.ErrUnreadable):
		return "`ErrUnreadable`"
	default:
		s.t.Errorf("the next delivery: %v", err)
		return "?"
	}
}

// stepErrInWords is what the handler got from the step that failed.
func (s *stepStory) stepErrInWords() string {
	if s.failure.kills || s.failure.runsOn {
		return "–"
	}
	for sentinel, name := range map[error]string{
		idempotent.ErrStepRefused: "ErrStepRefused", idempotent.ErrStepLost: "ErrStepLost",
		idempotent.ErrLeaseLost:  "ErrLeaseLost",
		idempotent.ErrUnreadable: "ErrUnreadable", idempotent.ErrUnknownOutcome: "ErrUnknownOutcome",
	} {
		if errors.Is(s.stepErr, sentinel) {
			return "`" + name + "`"
		}
	}
	_, replayed := errors.AsType[*idempotent.ReplayedError](s.stepErr)
	switch {
	case replayed:
		return "a `*ReplayedError`"
	case s.stepErr != nil:
		return "the error"
	case s.failure.behind != nil:
		return "the result"
	default:
		return "–"
	}
}

// TestTheTableOfWhatHappensToSteps: each failure, for each kind of step, is what the page says.
func TestTheTableOfWhatHappensToSteps(t *testing.T) {
	table, names := failureTable{file: "steps.md", mark: "failures of steps"}, make([]string, 0)
	for _, f := range stepFailures() {
		names = append(names, f.name)
	}
	table.play(t, []string{"`Step` returns"}, names, stepKinds(),
		func(t *testing.T, failure, column int) (told, cell string) {
			s := &stepStory{t: t, failure: stepFailures()[failure], kind: stepKinds()[column]} // rules remember
			if s.failure.marks && !s.kind.marks {
				return "", "–"
			}
			cell = s.play()
			return s.stepErrInWords(), cell
		})
}
