package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestLeaseIsTheDeadlineAndAMarginAndTheHandlerEndsBefore(t *testing.T) {
	type row struct{ timeout, reserve time.Duration }
	each(t, map[string]row{
		"reserve":               {10 * time.Second, 500 * time.Millisecond},
		"tenth of what is left": {2 * time.Second, 200 * time.Millisecond},
	}, func(t *testing.T, tc row) {
		s := newShop(t)
		deadline := time.Now().Add(tc.timeout)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			own, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, deadline.Add(-tc.reserve), own)
			r := s.mustRecord()
			assert.True(t, r.Lease.Equal(deadline.Add(idempotent.DefaultMargin)), "lease %v", r.Lease)
			assert.False(t, r.Expiry.Before(r.Lease))
			return receipt{}, nil
		}
		s.mustHandleFor(tc.timeout, 1)
		assertExecuted(t, s, 1)
	})
}

func TestExpiryNeverComesBeforeTheEndOfTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithRetention(time.Second))
		s.do = func(context.Context, order) (receipt, error) {
			r := s.mustRecord()
			assert.False(t, r.Expiry.Before(r.Lease), "TTL must not delete what protects an execution")
			return receipt{}, nil
		}
		s.mustHandleFor(time.Minute, 1)
		assertExecuted(t, s, 1)
	})
}

func TestCrashedRecordIsKeptForItsSettlement(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, unrepeatable())
		s.do = func(context.Context, order) (receipt, error) {
			assert.GreaterOrEqual(t, time.Until(s.mustRecord().Expiry), idempotent.DefaultUnknownRetention)
			return receipt{}, nil
		}
		s.mustHandle(1)
		assert.LessOrEqual(t, time.Until(s.mustRecord().Expiry), idempotent.DefaultRetention+time.Second,
			"once it is completed, the usual retention counts")
	})
}

func TestWithoutADeadlineTheLeaseIsRenewedWhileTheHandlerRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			for range 295 { // almost ten leases
				time.Sleep(time.Second)
				require.NoError(t, ctx.Err())
				require.True(t, s.mustRecord().Lease.After(time.Now()), "never unprotected")
			}
			s.sandbox(nil).mustFail(1, idempotent.ErrInProgress)
			return receipt{1, o.Amount}, nil
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 1)
		assert.Equal(t, store.StatusCompleted, s.mustRecord().Status)
		assert.Len(t, s.store.Ops(), 1+29+1, "a claim, a renewal each third of a lease, a completion")
	})
}

func TestRenewalWhoseReplyIsLostLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), when(storetest.LoseReply, func(c storetest.Call) bool {
			return renews(c) && c.N%2 == 0
		}))
		s.do = succeedsAfter(time.Minute)
		s.mustHandleFor(forever, 0)
		assert.Positive(t, s.store.Fired())
		s.mustHold(store.StatusCompleted, "")
	})
}

func TestHandlerIsCancelledAMarginBeforeALeaseThatCannotBeRenewedEnds(t *testing.T) {
	each(t, map[string]storetest.Fault{
		"silent": storetest.HangBefore, "refusing": storetest.Refuse, "denying": storetest.Deny,
	}, func(t *testing.T, fault storetest.Fault) {
		s := newShopOn(t, memory.New(), storetest.OnOp(swap, fault))
		s.do = untilItIsLost(t, s)
		s.mustFailFor(forever, 0, context.Canceled)
		s.assertGone("it said that it was interrupted, and was released")
		require.Error(t, s.event().StoreErr)
	})
}

func TestHandlerIsCancelledAtOnceWhenSomeoneElseHasTheRecord(t *testing.T) {
	each(t, map[string]func(r *store.Record){
		"taken over":   func(r *store.Record) { r.Owner = "thief" },
		"made UNKNOWN": unknown,
	}, func(t *testing.T, steal func(r *store.Record)) {
		s := newShop(t)
		var stolen store.Record
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			stolen = s.change(steal)
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			require.ErrorIs(t, context.Cause(ctx), idempotent.ErrLeaseLost)
			return receipt{}, idempotent.Uncertain(ctx.Err())
		}
		started := time.Now()
		s.mustFailFor(forever, 0, context.Canceled)
		assert.LessOrEqual(t, time.Since(started), idempotent.DefaultLease/2)
		assert.Equal(t, stolen.Owner, s.mustRecord().Owner)
	})
}

// TestNoStepBeginsInALongerContextOnceTheLeaseIsLost: a handler that goes on with a context which
// does not end with its own learns that the lease is lost from the step.
func TestNoStepBeginsInALongerContextOnceTheLeaseIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			s.change(func(r *store.Record) { r.Owner, r.Lease = "thief", time.Now().Add(time.Hour) })
			<-ctx.Done()
			_, err := idempotent.Step(context.WithoutCancel(ctx), "charge", func(context.Context) (int, error) {
				t.Error("the step has begun")
				return 0, nil
			})
			require.ErrorIs(t, err, idempotent.ErrLeaseLost)
			return receipt{}, err
		}
		s.mustFailFor(forever, 0, idempotent.ErrLeaseLost)
		assert.Equal(t, "thief", s.mustRecord().Owner)
	})
}

func TestRenewalThatIsNeverAnsweredIsRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), storetest.OnCall(2, storetest.HangBefore)).doing(succeedsAfter(time.Minute))
		s.mustHandleFor(forever, 0)
		assert.Equal(t, 1, s.store.Fired())
	})
}

func TestClockOfRecordsIsIndependentOfTheClockOfContexts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ahead := 1000 * time.Hour
		s := newShop(t, idempotent.WithClock(func() time.Time { return time.Now().Add(ahead) }))
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			assert.True(t, s.mustRecord().Lease.Equal(time.Now().Add(ahead+12*time.Second)))
			return receipt{}, ctx.Err()
		}
		s.mustHandle(1)
		assertExecuted(t, s, 1)
	})
}

func TestTimesOfRecordsAreRoundedUpToWhatStoresKeep(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		odd := 123456789 * time.Nanosecond
		s := newShop(t, idempotent.WithClock(func() time.Time { return time.Now().Add(odd) }))
		want := time.Now().Add(odd)
		s.do = func(context.Context, order) (receipt, error) {
			r := s.mustRecord()
			assert.Zero(t, r.Lease.Nanosecond()%int(time.Millisecond))
			assert.Zero(t, r.Expiry.Nanosecond())
			assert.False(t, r.Lease.Before(want.Add(12*time.Second)))
			assert.False(t, r.Expiry.Before(want.Add(idempotent.DefaultRetention)))
			return receipt{}, nil
		}
		s.mustHandle(1)
		assert.False(t, s.mustRecord().Expiry.Before(want.Add(idempotent.DefaultRetention)))
		assert.Zero(t, s.mustRecord().Expiry.Nanosecond())
	})
}

func TestHeartbeatIsJoinedBeforeTheRecordIsSettled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), storetest.OnCall(2, storetest.Slow))
		started := time.Now()
		s.do = func(_ context.Context, o order) (receipt, error) {
			time.Sleep(idempotent.DefaultLease/3 + time.Millisecond) // a renewal is on its way
			return receipt{1, o.Amount}, nil
		}
		s.mustHandleFor(forever, 0)
		assert.GreaterOrEqual(t, time.Since(started), idempotent.DefaultLease/3+storetest.SlowFor)
	})
}

func TestClaimWithoutADeadlineEndsWhileItsLeaseStillHolds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		timing := idempotent.WithTiming(idempotent.Timing{Lease: time.Second, Margin: 100 * time.Millisecond})
		s := newShopOn(t, memory.New(), storetest.OnOp(storetest.OpClaim, storetest.Refuse), timing)
		started := time.Now()
		s.mustFailFor(forever, 0, idempotent.ErrStoreUnavailable)
		assert.LessOrEqual(t, time.Since(started), 450*time.Millisecond)
	})
}

func TestShortestLeaseCanBeRenewedAfterASlowClaim(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		timing := idempotent.WithTiming(idempotent.Timing{Lease: 3 * time.Second, Margin: time.Second})
		s := newShopOn(t, memory.New(), when(storetest.Slow, func(c storetest.Call) bool { return c.N <= 2 }), timing)
		started := time.Now()
		s.do = func(ctx context.Context, o order) (receipt, error) {
			time.Sleep(time.Until(started.Add(time.Second + time.Millisecond)))
			assert.Len(t, s.store.Ops(), 2, "a third of the lease counts from the claim's beginning")
			select {
			case <-ctx.Done():
				return receipt{}, context.Cause(ctx)
			case <-time.After(time.Minute):
				return receipt{1, o.Amount}, nil
			}
		}
		s.mustHandleFor(forever, 0)
	})
}

func TestFarDeadlineCountsAsNone(t *testing.T) {
	each(t, map[string]func() time.Time{
		"in hours":     func() time.Time { return time.Now().Add(5 * time.Hour) },
		"in centuries": func() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
	}, func(t *testing.T, deadline func() time.Time) {
		s := newShop(t)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			assert.LessOrEqual(t, time.Until(s.mustRecord().Lease), idempotent.DefaultLease,
				"a crash does not block for ever")
			time.Sleep(2 * idempotent.DefaultLease)
			assert.True(t, s.mustRecord().Lease.After(time.Now()), "it is renewed")
			return receipt{1, o.Amount}, ctx.Err()
		}
		ctx, cancel := context.WithDeadline(t.Context(), deadline())
		defer cancel()
		_, err := s.handler.Handle(ctx, order{ID: "o-1"})
		require.NoError(t, err)
		assertExecuted(t, s, 1)
		assertOver(t, s)
	})
}
