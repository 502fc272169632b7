package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// The first renewal is applied by a slow network, after the next one and before the one after it.
func TestARenewalThatArrivesLateDoesNotMoveTheLeaseBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		network, first := hook(), true
		network.swap = func(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
			if !first || next.Status != store.StatusInProgress {
				return network.Store.Swap(ctx, seen, next)
			}
			first = false
			time.AfterFunc(15*time.Second, func() {
				_, _, _ = network.Store.Swap(context.WithoutCancel(ctx), seen, next)
			})
			return store.Record{}, false, noAnswer(store.FailureUnavailable)
		}
		s := newShopOn(t, network, nil)
		s.do = func(context.Context, order) (receipt, error) {
			var before time.Time
			for range 60 {
				lease := s.mustRecord().Lease
				require.False(t, lease.Before(before), "the lease went from %v back to %v", before, lease)
				before = lease
				time.Sleep(time.Second)
			}
			return receipt{Charge: 1}, nil
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 1)
	})
}

func TestARenewalThatFindsALaterOneHasSucceeded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			// a renewal of ours whose reply never came
			s.change(func(r *store.Record) { r.Lease = r.Lease.Add(time.Minute) })
			return succeedsAfter(time.Minute)(ctx, o)
		}
		s.mustHandleFor(forever, 1)
		assert.Equal(t, report.Completed, s.event().Settlement)
	})
}

// The credentials have expired; the SDK renews them meanwhile.
func TestADeniedRenewalIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), inTurn(renews, storetest.Deny, storetest.Deny, storetest.Pass))
		s.do = succeedsAfter(2 * time.Minute)
		s.mustHandleFor(forever, 1)
		assert.Equal(t, 2, s.store.Fired())
		assert.Equal(t, report.Completed, s.event().Settlement)
	})
}

// slowClaim is a store whose first claim takes some time to be answered, whatever its context says.
func slowClaim(takes time.Duration) *hooked {
	h := hook()
	h.claim = func(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
		held, claimed, err := h.Store.Claim(context.WithoutCancel(ctx), r, now)
		d := takes
		takes = 0
		time.Sleep(d)
		return held, claimed, err
	}
	return h
}

// aheadAt makes the clock of records go on by a minute at such a call, while that of contexts
// stands still.
func aheadAt(about func(c storetest.Call) bool) (rule, func() time.Time) {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	return func(c storetest.Call) storetest.Fault {
		if about(c) {
			ahead.Add(int64(time.Minute))
		}
		return storetest.Pass
	}, now
}

func TestTheHandlerNeverStartsUnderALeaseThatIsPartlyUsedUp(t *testing.T) {
	full := idempotent.DefaultLease - time.Second
	bubble(t, "after a slow look", func(t *testing.T) {
		slow, takes := hook(), time.Duration(0)
		slow.get = func(ctx context.Context, key string) (store.Record, bool, error) {
			time.Sleep(takes)
			return slow.Store.Get(context.WithoutCancel(ctx), key)
		}
		s := newShopOn(t, slow, nil, idempotent.WithWait(10*time.Minute))
		blocking := s.put(func(r *store.Record) { r.Lease = time.Now().Add(time.Second) })
		takes = 31 * time.Second
		s.do = func(context.Context, order) (receipt, error) {
			takes = 0
			r := s.mustRecord()
			assert.NotEqual(t, blocking.Owner, r.Owner)
			assert.GreaterOrEqual(t, time.Until(r.Lease), full)
			return receipt{}, nil
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 1)
	})
	bubble(t, "after a slow claim", func(t *testing.T) {
		s := newShopOn(t, slowClaim(25*time.Second), noRenewal)
		s.do = func(context.Context, order) (receipt, error) {
			assert.GreaterOrEqual(t, time.Until(s.mustRecord().Lease), full)
			return receipt{}, nil
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 1)
		assert.Equal(t, report.Completed, s.event().Settlement)
	})
	bubble(t, "of a machine that was suspended", func(t *testing.T) {
		// Between the claim and the start of the handler.
		suspended, now := aheadAt(func(c storetest.Call) bool { return c.N == 1 })
		s := newShopOn(t, memory.New(), suspended, idempotent.WithClock(now))
		s.do = func(context.Context, order) (receipt, error) {
			calls := s.store.Calls()
			lease := calls[len(calls)-1].Next.Lease
			assert.True(t, lease.After(now()), "the lease until %v lives at %v", lease, now())
			return receipt{}, nil
		}
		s.mustHandle(1)
		assertExecuted(t, s, 1)
	})
}

func TestClaimsThatAllTakeTooLongAreGivenUp(t *testing.T) {
	late, now := aheadAt(isOp(claim))
	deliveryCase{
		rule: late, opts: []idempotent.Option{idempotent.WithClock(now)}, err: idempotent.ErrStoreUnavailable,
		ops: []storetest.Op{claim, remove, claim, remove, claim, remove}, // each one is taken back
	}.deliver(t, "on a machine that is suspended each time")
}

func TestAClaimThatComesAfterItsDeadlineIsTakenBack(t *testing.T) {
	deliveryCase{
		on: slowClaim(10*time.Second + time.Millisecond), rule: storetest.OnOp(remove, storetest.Slow),
		err: idempotent.ErrStoreUnavailable, ops: []storetest.Op{claim, remove},
	}.deliver(t, "slowly")
}

func TestAClaimThatIsTakenBackLeavesTimeToAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		late, now := aheadAt(func(c storetest.Call) bool { return c.Op != remove })
		s := newShopOn(t, memory.New(), either(storetest.OnOp(remove, storetest.HangBefore), late),
			idempotent.WithClock(now))
		started := time.Now()
		s.mustFailFor(300*time.Millisecond, 1, errAny)
		assert.Less(t, time.Since(started), 300*time.Millisecond)
		assertExecuted(t, s, 0)
	})
}

func TestALiveProcessKeepsItsClaimPastItsDeadline(t *testing.T) {
	for name, overrun := range map[string]time.Duration{"a little": 3 * time.Second, "for minutes": 10 * time.Minute} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t)
			s.do = func(ctx context.Context, _ order) (receipt, error) {
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
				end := time.Now().Add(overrun)
				for time.Now().Before(end) {
					time.Sleep(500 * time.Millisecond)
					require.True(t, s.mustRecord().Lease.After(time.Now()),
						"a taker would run beside this execution")
				}
				return receipt{Charge: 7}, nil
			}
			got := s.mustHandleFor(5*time.Second, 1)
			assert.Equal(t, int64(7), got.Charge)
			assert.Equal(t, report.Completed, s.event().Settlement)
			assertExecuted(t, s, 1)
			assertOver(t, s)
		})
	}
}

func TestAnOverrunIsProtectedForAQuarterOfAnHour(t *testing.T) {
	each(t, map[string]time.Duration{
		"of a near deadline": 5 * time.Second,
		"of a far one":       5 * time.Hour,
	}, func(t *testing.T, timeout time.Duration) {
		s := newShop(t)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			<-ctx.Done()
			time.Sleep(14 * time.Minute)
			assert.True(t, s.mustRecord().Lease.After(time.Now()))
			time.Sleep(2*time.Minute + idempotent.DefaultLease)
			assert.False(t, s.mustRecord().Lease.After(time.Now()),
				"a handler that hangs does not block its key for ever")
			return receipt{}, nil
		}
		s.mustHandleFor(timeout, 1)
	})
}

func TestAProcessThatIsKilledAtItsDeadlineRenewsNothing(t *testing.T) {
	deliveryCase{
		do: untilItEnds(context.Context.Err), within: 5 * time.Second, err: errAny, runs: 1,
		ops: []storetest.Op{claim, remove},
	}.deliver(t, "half a second before the deadline")
}

func TestAnOverrunWithinHalfOfTheMarginRenewsNothing(t *testing.T) {
	deliveryCase{
		do: func(context.Context, order) (receipt, error) {
			time.Sleep(5*time.Second + idempotent.DefaultMargin/2 - time.Nanosecond)
			return receipt{Charge: 1}, nil
		},
		within: 5 * time.Second, runs: 1, left: store.StatusCompleted, ops: []storetest.Op{claim, swap},
	}.deliver(t, "Lambda kills a process within that time")
}

// The handler returns in the instant in which its overrun would be noticed: either comes first.
func TestARenewalDoesNotBeginAfterTheHandlerHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 100 {
			s := newShop(t).doing(func(context.Context, order) (receipt, error) {
				time.Sleep(5*time.Second + idempotent.DefaultMargin/2)
				return receipt{Charge: 1}, nil
			})
			s.mustHandleFor(5*time.Second, 1)
			settled := len(s.store.Ops())
			time.Sleep(time.Hour)
			require.Len(t, s.store.Ops(), settled)
			require.Equal(t, report.Completed, s.event().Settlement)
		}
	})
}

func TestOfSeveralMarksTheMostCautiousCounts(t *testing.T) {
	none, terminal, uncertain := idempotent.NotExecuted, idempotent.Terminal, idempotent.Uncertain
	type row struct {
		err    error
		status store.Status
	}
	each(t, map[string]row{
		"not executed, uncertain":       {errors.Join(none(errCard), uncertain(errCard)), store.StatusUnknown},
		"uncertain, not executed":       {errors.Join(uncertain(errCard), none(errCard)), store.StatusUnknown},
		"terminal, uncertain":           {errors.Join(terminal(errCard), uncertain(errCard)), store.StatusUnknown},
		"not executed, terminal":        {errors.Join(none(errCard), terminal(errCard)), store.StatusCompleted},
		"one around the other":          {none(uncertain(errCard)), store.StatusUnknown},
		"one around the other, wrapped": {none(fmt.Errorf("mail: %w", terminal(errCard))), store.StatusCompleted},
		"deep in a tree": {
			fmt.Errorf("%w, %w", none(errCard), errors.Join(errCard, fmt.Errorf("card: %w", uncertain(errCard)))),
			store.StatusUnknown,
		},
		"all say that nothing happened": {errors.Join(none(errCard), none(errCard)), ""},
	}, func(t *testing.T, tc row) {
		s := newShop(t).doing(fails(tc.err))
		s.mustFail(1, errAny)
		r, _ := s.record()
		assert.Equal(t, tc.status, r.Status)
	})
}

func TestNotExecutedReleasesWhatSomeoneElseMadeUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, unrepeatable())
		s.do = func(context.Context, order) (receipt, error) {
			s.change(unknown)
			return receipt{}, idempotent.NotExecuted(errCard)
		}
		s.mustFail(1, errCard)
		s.assertGone("the key is free")
		assert.Equal(t, report.Released, s.event().Settlement)
		assert.NoError(t, s.event().StoreErr)
	})
}

func TestWhatHasExpiredIsGone(t *testing.T) {
	each(t, map[string]func(r *store.Record){
		"crashed":                     func(*store.Record) {},
		"crashed, of another request": func(r *store.Record) { r.Fingerprint = "1:other" },
		"unknown":                     func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, "crashed" },
		"unknown, of another request": func(r *store.Record) {
			r.Status, r.Reason, r.Fingerprint = store.StatusUnknown, "crashed", "1:other"
		},
		"unknown, of a long lease": func(r *store.Record) {
			r.Status, r.Reason, r.Lease = store.StatusUnknown, "crashed", time.Now().Add(48*time.Hour)
		},
		"of no status we know": func(r *store.Record) { r.Status = "SETTLING" },
	}, func(t *testing.T, change func(r *store.Record)) {
		s := newShop(t, unrepeatable(), amountFingerprint())
		s.put(change)
		time.Sleep(25 * time.Hour)
		got := s.mustHandle(1)
		assert.Equal(t, int64(1), got.Charge)
		assert.Equal(t, 1, s.mustRecord().Attempt, "a first execution: nothing of the old record survives")
	})
}

func TestAnExpiredRecordIsProtectedWhileItsLeaseLives(t *testing.T) {
	deliveryCase{
		put: func(r *store.Record) { r.Lease, r.Expiry = time.Now().Add(time.Minute), time.Now() },
		err: idempotent.ErrInProgress, left: store.StatusInProgress,
	}.deliver(t, "it came to its expiry")
}
