package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Whatever was noted and returned, and in which order, the most cautious mark counts.
func TestMostCautiousOfAllMarksCounts(t *testing.T) {
	t.Parallel()
	unmarked, none, final, maybe := errors.New("unmarked"), idempotent.NotExecuted(errors.New("none")),
		idempotent.Terminal(errors.New("final")), idempotent.Uncertain(errors.New("maybe"))
	inOrder := []error{unmarked, none, final, maybe}
	settled := []report.Settlement{
		report.Released, report.Released, report.Completed, report.Unknown,
	}
	for i, one := range inOrder {
		for j, other := range inOrder {
			for _, returned := range []bool{false, true} {
				s := newShop(t).doing(func(ctx context.Context, _ order) (receipt, error) {
					idempotent.Mark(ctx, one)
					if returned {
						return receipt{}, other
					}
					idempotent.Mark(ctx, fmt.Errorf("wrapped: %w", other))
					return receipt{}, nil
				})
				_, err := s.handle(5)
				e := s.event()
				assert.Equal(t, settled[max(i, j)], e.Settlement, "%v and %v", one, other)
				require.ErrorIs(t, e.Err, one, "the observer gets all")
				require.ErrorIs(t, e.Err, other)
				switch {
				case returned:
					assert.Equal(t, execution.Stripped(other), err, "Lambda reports what the handler returned")
				case i >= j:
					assert.Equal(t, execution.Stripped(one), err, "or else the most cautious one")
				}
			}
		}
	}
}

func TestOfManyNotedErrorsTheMostCautiousIsKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	last := errors.New("last")
	s.do = func(ctx context.Context, _ order) (receipt, error) {
		for n := range 1000 {
			idempotent.Mark(ctx, errors.New("error "+strconv.Itoa(n)))
		}
		idempotent.Mark(ctx, idempotent.Uncertain(last))
		idempotent.Mark(ctx, errors.New("one more"))
		return receipt{}, nil
	}
	s.mustReturn(5, last)
	assert.Equal(t, report.Unknown, s.event().Settlement)
	all := s.event().Err.(interface{ Unwrap() []error }).Unwrap()
	assert.Len(t, all, 20)
	assert.EqualError(t, all[18], "error 18")
	assert.Same(t, last, execution.Stripped(all[19]))
}

func TestErrorsAreNotedAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newShop(t).doing(func(ctx context.Context, _ order) (receipt, error) {
		var group sync.WaitGroup
		for n := range 100 {
			group.Go(func() {
				err := fmt.Errorf("%w of %d", errCard, n)
				if n%2 == 0 {
					err = idempotent.Terminal(err)
				}
				idempotent.Mark(ctx, err)
			})
		}
		group.Wait()
		return receipt{}, nil
	})
	err := s.mustFail(5, errCard)
	assert.Equal(t, report.Completed, s.event().Settlement)
	_, again := s.handle(5)
	assert.EqualError(t, again, err.Error())
	assertExecuted(t, s, 1)
}

// There is no room for more than 20, and the most cautious one takes the place of another.
func TestErrorThatIsNotedTooLateTakesNoOnesPlace(t *testing.T) {
	t.Parallel()
	var of context.Context
	late := 0
	s := newShopOn(t, memory.New(), func(c calls.Call) calls.Fault {
		if c.Op == calls.Delete { // the release
			late++
			idempotent.Mark(of, idempotent.Uncertain(errors.New("too late")))
		}
		return calls.Pass
	})
	s.do = func(ctx context.Context, _ order) (receipt, error) {
		of = ctx //nolint:fatcontext // it is used after the handler
		for range 20 {
			idempotent.Mark(ctx, idempotent.NotExecuted(errCard))
		}
		return receipt{}, nil
	}
	err := s.mustFail(5, errCard)
	assert.Equal(t, report.Released, s.event().Settlement)
	idempotent.Mark(of, idempotent.Uncertain(errors.New("too late")))
	assert.Equal(t, 1, late)
	assert.NotContains(t, err.Error(), "too late")
	assert.NotContains(t, s.event().Err.Error(), "too late")
}

func TestErrorIsNeverNotedInAContextThatWasLost(t *testing.T) {
	t.Parallel()
	lost := lostContext(t, func() { idempotent.Mark(context.Background(), idempotent.Uncertain(errCard)) })
	assert.Equal(t, "Mark", lost.Function)
	require.ErrorIs(t, lost, errCard)
	require.ErrorContains(t, lost, "idempotent: Mark: the context belongs to no delivery")
	assert.NotContains(t, lost.Error(), errCard.Error(), "it may quote the request")
}

// An effect that may have happened is not forgotten because the handler panics afterwards.
func TestPanicAfterANotedErrorIsAPanicUnlessTheEffectIsUncertain(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		effects idempotent.Effects
		want    report.Settlement
		reason  string
	}{
		"unmarked":           {errCard, idempotent.Cautious, report.Released, ""},
		"not executed":       {idempotent.NotExecuted(errCard), idempotent.Unrepeatable, report.Unknown, "panic"},
		"terminal":           {idempotent.Terminal(errCard), idempotent.Cautious, report.Released, ""},
		"uncertain":          {idempotent.Uncertain(errCard), idempotent.Cautious, report.Unknown, "uncertain"},
		"uncertain, refused": {idempotent.Uncertain(errCard), idempotent.Unrepeatable, report.Unknown, "uncertain"},
	} {
		deliveryCase{
			opts: []idempotent.Option{idempotent.WithEffects(tc.effects)}, do: marking(tc.err, panics("boom")),
			panics: "boom", runs: 1, settled: tc.want, outcome: report.Panicked,
			left: map[bool]store.Status{true: store.StatusUnknown}[tc.want == report.Unknown], reason: tc.reason,
			then: func(s *shop, _ error) { assert.Equal(s.t, tc.reason, s.event().Reason) },
		}.deliver(t, name)
	}
}

// What a resolver notes says nothing about the execution that follows it.
func TestResolverNotesNothing(t *testing.T) {
	for name, err := range map[string]error{"nothing": nil, "uncertainty": idempotent.Uncertain(errCard)} {
		deliveryCase{
			opts: []idempotent.Option{asking(func(ctx context.Context) resolution {
				idempotent.Mark(ctx, err)
				return idempotent.Untouched[receipt]()
			})},
			put: crashed, runs: 1, settled: report.Completed, left: store.StatusCompleted,
		}.deliver(t, name)
	}
}

func TestErrorThatIsNotedInsideOfAStepCountsForTheExecution(t *testing.T) {
	noted := false
	deliveryCase{ // the record keeps the step
		do: func(ctx context.Context, _ order) (receipt, error) {
			_, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
				require.False(t, noted, "the step runs again")
				noted = true
				idempotent.Mark(ctx, errCard)
				return "ch-1", nil
			})
			return receipt{Charge: 1}, err
		},
		err: errCard, runs: 1, settled: report.Released, left: store.StatusInProgress, reason: "released",
		then: func(s *shop, _ error) { s.mustGet(5, receipt{Charge: 1}) },
	}.deliver(t, "charge")
}

// An inner handler notes for its own execution; the error reaches the outer one if that returns it.
func TestInnerHandlerNotesForItsOwnExecution(t *testing.T) {
	each(t, map[string]error{
		"unmarked": errCard, "not executed": idempotent.NotExecuted(errCard), "terminal": idempotent.Terminal(errCard),
		"uncertain": idempotent.Uncertain(errCard),
	}, func(t *testing.T, err error) {
		outer, inner := nested(t, nil, nil)
		inner.do = marking(err, returns(receipt{}))
		outer.mustReturn(5, errCard)
		assert.Equal(t, inner.event().Settlement, outer.event().Settlement)
		require.ErrorIs(t, outer.event().Err, errCard)

		outer, inner = nested(t, nil, nil)
		inner.do = marking(err, returns(receipt{}))
		outer.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := inner.handler.Handle(ctx, o)
			assert.ErrorIs(t, err, errCard)
			return receipt{Charge: 1}, nil
		}
		outer.mustHandle(5)
		assert.Equal(t, report.Completed, outer.event().Settlement, "the outer handler has another way")
	})
}

func TestUnprotectedHandlerInsideAProtectedOneNotesNothingForIt(t *testing.T) {
	t.Parallel()
	inner := newShop(t, idempotent.WithDisabled(true))
	inner.do = marking(idempotent.Uncertain(errCard), returns(receipt{}))
	outer := newShop(t).doing(inner.handler.Handle)
	outer.mustHandle(5)
	assert.Equal(t, report.Completed, outer.event().Settlement)
}

// An Uncertain that was noted holds whatever the store does: nobody executes while the lease lasts.
func TestNotedUncertaintyThatCannotBeWrittenKeepsTheLease(t *testing.T) {
	deliveryCase{
		rule: calls.OnOp(swap, calls.Deny), do: marking(idempotent.Uncertain(errCard), returns(receipt{})),
		err: errCard, runs: 1, settled: report.NotSettled, left: store.StatusInProgress,
		then: func(s *shop, err error) {
			assert.Same(s.t, errCard, err)
			s.mustFailFor(time.Second, 5, idempotent.ErrInProgress)
			assertExecuted(s.t, s, 1)
		},
	}.deliver(t, "denied")
}
