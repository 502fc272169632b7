package protocol_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// What the search for schedules has found.

func TestAHandlerThatFailsBeforeItsFirstStepFreesItsKey(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t).doing(firstly(func(ctx context.Context, _ order) (receipt, error) {
			return receipt{}, failIn(ctx, "first", idempotent.NotExecuted(errCard), once())
		}, fails(errCard)))
		s.mustFail(5, errCard)
		kept := s.mustRecord()
		require.Empty(t, kept.Steps, "its start mark stood for nothing")
		require.NotZero(t, kept.StepWrites)

		s.mustFail(5, errCard)
		assert.Equal(t, report.Released, s.event().Settlement)
		s.assertGone("it has nothing to keep")
	})
}

// explosive panics when it is encoded.
type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("encoding") }
func (*explosive) UnmarshalJSON([]byte) error  { return nil }

var _ json.Marshaler = explosive{}

func TestAnEffectWhoseEncodingPanicsIsNotRepeated(t *testing.T) {
	for name, opts := range map[string][]idempotent.Option{"by default": nil, "under Refuse": {unrepeatable()}} {
		happened, why := 0, map[bool]string{false: store.ReasonResultLost, true: store.ReasonPanic}[opts != nil]
		deliveryCase{
			opts: opts, panics: "encoding", runs: 1, settled: report.Unknown, left: store.StatusUnknown, reason: why,
			do: func(ctx context.Context, _ order) (receipt, error) {
				_, err := idempotent.Step(ctx, "first",
					func(context.Context) (explosive, error) { happened++; return explosive{}, nil })
				return receipt{}, err
			},
			then: func(s *shop, _ error) {
				s.mustFail(5, idempotent.ErrUnknownOutcome)
				assert.Equal(s.t, 1, happened)
			},
		}.deliver(t, name)
	}
}

// TestADeliveryThatAskedTheResolverAndCrashed: the record is as unknown as it was, although its
// steps are recorded.
func TestADeliveryThatAskedTheResolverAndCrashed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		asked := 0
		resolver := idempotent.WithResolver(func(context.Context, idempotent.Execution, order) (resolution, error) {
			asked++
			return idempotent.StillUnknown[receipt](), nil
		})
		s := newShop(t, resolver).doing(func(ctx context.Context, _ order) (receipt, error) {
			_, err := take(ctx, "first")
			require.NoError(t, err)
			return receipt{}, idempotent.Uncertain(errCard)
		})
		s.mustFail(5, errCard)
		require.Equal(t, store.StatusUnknown, s.mustRecord().Status)

		crash := func() {
			// claim, takeover, still unknown
			_, _ = s.sandbox(calls.OnCall(3, calls.DieBefore), resolver).handle(5)
			require.Equal(t, store.StatusInProgress, s.mustRecord().Status)
			time.Sleep(20 * time.Second)
		}
		crash()
		s.mustFail(5, idempotent.ErrUnknownOutcome)
		assert.Equal(t, 2, asked)
		assert.Equal(t, store.ReasonUncertain, s.mustRecord().Reason)

		crash()
		s.sandbox(nil, unrepeatable()).mustFail(5, idempotent.ErrUnknownOutcome,
			"without a resolver nobody knows better")
		assertExecuted(t, s, 1)
	})
}

// TestALateCopyOfAStepLeavesTheExpiryBehindTheLease: the copy comes after a renewal, and a
// retention is shorter than a lease.
func TestALateCopyOfAStepLeavesTheExpiryBehindTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		inner := memory.New()
		var copied *calls.Call
		s := newShopOn(t, inner, func(c calls.Call) calls.Fault {
			if c.Op == calls.Swap && len(c.Next.Steps) > 0 && copied == nil {
				copied = &c
			}
			return calls.Pass
		}, idempotent.WithRetention(time.Second))
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := take(ctx, "first")
			require.NoError(t, err)
			time.Sleep(protocol.DefaultLease / 2) // it is renewed
			_, _, err = inner.Swap(context.WithoutCancel(ctx), copied.Seen, copied.Next)
			require.NoError(t, err)
			r := s.mustRecord()
			assert.False(t, r.Expiry.Before(r.Lease), "it expires %v before its lease ends", r.Lease.Sub(r.Expiry))
			_, err = take(ctx, "second")
			require.NoError(t, err)
			r = s.mustRecord()
			assert.False(t, r.Expiry.Before(r.Lease), "it expires %v before its lease ends", r.Lease.Sub(r.Expiry))
			return receipt{1, o.Amount}, nil
		}
		s.mustHandleFor(forever, 5) // without a deadline
	})
}

// TestAStepThatMeetsARenewalWhoseReplyWasLost: the record has a later lease than the execution
// knows.
func TestAStepThatMeetsARenewalWhoseReplyWasLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			next := s.change(func(r *store.Record) {
				r.Lease = r.Lease.Add(time.Minute)
				r.Expiry = r.Expiry.Add(time.Minute)
			})
			_, err := take(ctx, "first")
			require.NoError(t, err)
			assert.Equal(t, next.Lease, s.mustRecord().Lease)
			return receipt{1, o.Amount}, nil
		}
		s.mustHandle(5)
	})
}

func TestAFindingThatCannotBeRecordedIsToldAllTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		asks := onceAsking(idempotent.Executed("found"), nil)
		s := newShop(t).doing(firstly(func(ctx context.Context, _ order) (receipt, error) {
			return receipt{}, failIn(ctx, "first", errCard, asks)
		}, func(ctx context.Context, _ order) (receipt, error) {
			got, err := take(ctx, "first", asks)
			require.ErrorIs(t, err, idempotent.ErrStepLost)
			assert.Equal(t, "found", got)
			return receipt{7, 5}, nil
		}))
		s.mustFail(5, errCard, "its start mark stays")
		s.another(writesOf("first", store.StepValue, calls.Deny)).mustGet(5, receipt{7, 5})
	})
}

// TestACompletionNamesTheStepsThatItDrops: a store that keeps each step in an attribute of its own
// cannot look for them.
func TestACompletionNamesTheStepsThatItDrops(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, failures := newShop(t), errCard
		s.do = inTwoSteps(func() (err error) { err, failures = failures, nil; return err })
		s.mustFail(5, errCard)
		s.mustHandle(5)
		calls := s.store.Calls()
		completion := calls[len(calls)-1]
		require.Equal(t, store.StatusCompleted, completion.Next.Status)
		assert.Len(t, completion.Seen.Steps, 2, "one that it found, and one of its own")
	})
}
