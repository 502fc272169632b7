package idempotent

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/jsonform"
)

// Step runs f at most once per recorded result: what f returns is written into the record, and a
// later execution, after a crash, an error or a timeout, gets it. Other steps run again.
//
//	charge, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (Charge, error) {
//		return provider.Charge(ctx, idempotent.DerivedKey(ctx, ""), order)
//	})
//
// A step is for one effect. If the process dies between the effect and its recording, the step runs
// again: pass [DerivedKey] to whoever takes a key, or use [AtMostOnce].
//
// The name finds the step again: 1 to 64 characters of A-Z, a-z, 0-9, '.', '_', '/', '-', used once
// in an execution. A loop names its items. There are at most 100 steps. They may run at the same
// time, but not inside of each other. Join those in goroutines before the handler returns: one that
// still runs then counts as lost.
//
// ctx is the handler's, or one made from it. f gets a context in which DerivedKey(ctx, "") is the
// key of this step. T is kept as JSON, and Step returns what comes out of that also the first time,
// so that every execution sees the same; a step without a result returns struct{}. What a T must
// carry is what [Wrap] asks of a result.
//
// If f returns an error, Step returns that very error, and what f returned beside it. Only
// [Terminal] is recorded, and comes as a [*ReplayedError], also the first time. After [Uncertain]
// the record becomes UNKNOWN, unless the handler ends with a result to store.
//
// Every other error is an [*Error]: [ErrStepRefused] (f did not run), [ErrStepLost] (f ran and is
// not recorded; Step returns what f returned), [ErrLeaseLost], [ErrUnreadable],
// [ErrUnknownOutcome]. Return it from the handler, and nothing that was recorded is repeated.
//
// A step costs one write of the record (a write unit per KB of it) and no read. Completing the
// execution removes the steps. In an execution without protection f just runs.
func Step[T any](ctx context.Context, name string, f func(ctx context.Context) (T, error),
	opts ...StepOption[T],
) (T, error) {
	s := &step[T]{f: f}
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
	c, protected := execution.From(ctx)
	reason := "its function is nil"
	switch {
	case f == nil:
	case protected:
		if fault := c.Steps.Step(ctx, name, s); fault != nil {
			return s.out, (*Error)(fault)
		}
		return s.out, s.err
	case execution.IsUnprotected(ctx):
		out, err := f(ctx)
		if execution.MarkOf(err) == execution.Terminal { // what a handler looks for
			final := failureOf(err)
			err = &final
		}
		return out, err
	default:
		reason = "its context belongs to no delivery: pass on the one that the handler was given, or say so with Unprotected"
	}
	return s.out, &Error{
		Kind: ErrStepRefused, Operation: c.Operation, RecordKey: c.RecordKey, Step: name, Reason: reason,
	}
}

// StepOption adjusts one [Step], see [AtMostOnce].
type StepOption[T any] func(*step[T])

// AtMostOnce is for an effect that must not be repeated and takes no key. The step then writes a
// start mark before it runs f, which is a second write. An execution that finds a start mark
// without a result asks resolver, in a context with the key of the step, what became of it.
// [Executed] is recorded in the place of a result, [Untouched] lets f run, and after
// [StillUnknown], an error, or without a resolver, the step fails with [ErrUnknownOutcome] and the
// record becomes UNKNOWN. Without a resolver write AtMostOnce[T](nil).
//
// Under [Unrepeatable] and with [WithResolver] every step writes a start mark.
func AtMostOnce[T any](resolver func(ctx context.Context, x Execution) (Resolution[T], error)) StepOption[T] {
	return func(s *step[T]) { s.once, s.resolver = true, resolver }
}

// step is one call of [Step]. It implements [execution.Effect].
type step[T any] struct {
	f        func(context.Context) (T, error)
	resolver func(context.Context, Execution) (Resolution[T], error)
	once     bool
	out      T
	recorded T // as it is decoded, which may fail halfway
	err      error
}

func (*step[T]) Result() reflect.Type { return reflect.TypeFor[T]() }
func (*step[T]) Unfit() string        { return jsonform.Problem(reflect.TypeFor[T]()) }
func (s *step[T]) AtMostOnce() bool   { return s.once }

func (s *step[T]) Run(ctx context.Context) error {
	s.out, s.err = s.f(ctx)
	return s.err
}

func (s *step[T]) Text() ([]byte, error) {
	if s.err != nil {
		return encodeJSON(failureOf(s.err))
	}
	return encodeJSON(s.out)
}

func (s *step[T]) Resolve(ctx context.Context, c execution.Claim) (execution.Finding, []byte, error) {
	if s.resolver == nil {
		return execution.StillUnknown, nil, nil
	}
	r, err := s.resolver(execution.With(ctx, c), executionOf(c))
	switch {
	case err != nil:
		return r.finding, nil, &quietError{err}
	case r.finding != execution.HasExecuted:
		return r.finding, nil, nil
	}
	s.out = r.out
	text, err := encodeJSON(r.out)
	return r.finding, text, err
}

func (s *step[T]) Accept(text []byte, failed bool) (failure, _ error) {
	if failed {
		final := new(ReplayedError)
		if err := json.Unmarshal(text, final); err != nil {
			return nil, err
		}
		s.err = final
		return s.err, nil
	}
	if err := json.Unmarshal(text, &s.recorded); err != nil {
		return nil, err
	}
	s.out, s.err = s.recorded, nil
	return s.err, nil
}

// Sentinels of [Step] for [errors.Is], beside [ErrLeaseLost], [ErrUnreadable] and
// [ErrUnknownOutcome]. The data is in a [*Error].
var (
	// ErrStepRefused is returned when the function of a step did not run: the name is malformed or
	// was used before, the step is inside of another, its context belongs to no delivery or has
	// ended, the handler has returned, the result has no JSON form, or the store failed.
	ErrStepRefused = execution.ErrStepRefused
	// ErrStepLost is returned when the function of a step ran and its result is not recorded,
	// because it has no JSON form, is too large, or the store could not take it. Step returns what
	// the function returned. The record becomes UNKNOWN, or, under [Repeatable], executes again
	// after its lease. A handler that has a result to store all the same may return it.
	ErrStepLost = execution.ErrStepLost
)
