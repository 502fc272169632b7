package protocol_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// noStepWrites refuses every write of a step's result for good.
func noStepWrites(c storetest.Call) storetest.Fault {
	if c.Op == storetest.OpSwap && len(c.Next.Steps) > 0 {
		return storetest.Deny
	}
	return storetest.Pass
}

// stepOf is what the observer saw last of the one step of an execution.
func (s *shop) stepOf() report.Step {
	s.t.Helper()
	require.Len(s.t, s.event().Steps, 1)
	return s.event().Steps[0]
}

func TestAnObserverTellsWhyAStepHasNoOutcome(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.wrap(noStepWrites)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			return idempotent.Step(ctx, "charge",
				func(context.Context) (receipt, error) { return receipt{Charge: 1}, nil })
		}
		s.mustFail(5, idempotent.ErrStepLost)
		lost, ok := errors.AsType[*idempotent.Error](s.stepOf().Err)
		require.True(t, ok)
		require.ErrorIs(t, lost, idempotent.ErrStepLost)
		assert.Equal(t, "charge", lost.Step)
		assert.Equal(t, s.recordKey(), lost.RecordKey)
		assert.NotEqual(t, report.StepRecorded, s.stepOf().End)
	})
}

func TestAFinalFailureOfAStepLooksAlikeWhetherRecordedOrResumed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		fail := true
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			_, err := idempotent.Step(ctx, "charge", func(context.Context) (receipt, error) {
				return receipt{}, idempotent.Terminal(errCard)
			})
			require.Error(t, err)
			if fail {
				return receipt{}, errors.New("something else") // which releases, with the step
			}
			return receipt{Charge: 7}, nil
		}
		s.mustFail(5, errAny)
		first := s.stepOf()
		fail = false
		s.mustHandle(5)
		again := s.stepOf()
		assert.Equal(t, report.StepRecorded, first.End)
		assert.Equal(t, report.StepResumed, again.End)
		require.ErrorAs(t, first.Err, new(*idempotent.ReplayedError))
		assert.Equal(t, first.Err, again.Err)
		assert.Equal(t, first.Bytes, again.Bytes)
	})
}

func TestStepsThatNoCodeAsksForAreOrphansUnlessAResolverAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		renamed := newShop(t)
		resolved := newShop(t, resolves(idempotent.Executed(receipt{Charge: 9}), nil))
		for s, want := range map[*shop][]string{renamed: {"charge", "mail"}, resolved: nil} {
			s.put(func(r *store.Record) {
				if s == resolved {
					r.Status, r.Reason = store.StatusUnknown, store.ReasonUncertain
				} else {
					r.Reason = store.ReasonReleased
				}
			})
			held := s.mustRecord()
			next := held
			next.Steps = map[string]store.Step{}
			for _, name := range []string{"mail", "charge"} {
				next.Steps[name] = store.Step{
					Kind: store.StepValue, Seal: store.Seal(held.Owner, []byte("1")),
					Result: []byte("1"),
				}
			}
			mustSwap(t, s.inner, held, next)
			s.mustHandle(5)
			assert.Equal(t, want, s.event().OrphanSteps)
			assert.Equal(t, report.Completed, s.event().Settlement)
		}
	})
}

// rememberingStore remembers what a store is given.
type rememberingStore struct {
	store.Store

	seen []map[string]store.Step
}

func (l *rememberingStore) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	l.seen = append(l.seen, seen.Steps)
	return l.Store.Swap(ctx, seen, next)
}

// A store may still read what it was given while another step runs.
func TestStepsThatAStoreWasGivenStayAsTheyWere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := &rememberingStore{Store: memory.New()}
		s := newShopOn(t, l, nil).doing(func(ctx context.Context, _ order) (receipt, error) {
			for _, name := range []string{"reserve", "charge", "mail"} {
				if _, err := idempotent.Step(ctx, name,
					func(context.Context) (string, error) { return name, nil }); err != nil {
					return receipt{}, err
				}
			}
			return receipt{}, nil
		})
		s.mustHandle(5)
		require.Len(t, l.seen, 4)
		for i, seen := range l.seen {
			assert.Len(t, seen, i, "write %d", i+1)
		}
	})
}
