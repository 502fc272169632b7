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

// late applies chosen swaps later than they were sent, as a slow network may: the caller has long
// given up, or has been answered otherwise.
type late struct {
	store.Store

	delay func(seen, next store.Record) time.Duration
}

func (l *late) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	d := l.delay(seen, next)
	if d == 0 {
		return l.Store.Swap(ctx, seen, next)
	}
	go func() {
		time.Sleep(d)
		_, _, _ = l.Store.Swap(context.WithoutCancel(ctx), seen, next)
	}()
	return store.Record{}, false, &store.Error{Op: "swap", Kind: store.FailureUnavailable, Err: errors.New("no answer")}
}

func TestARenewalThatArrivesLateDoesNotMoveTheLeaseBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		inner := memory.New()
		first := true
		network := &late{Store: inner, delay: func(_, next store.Record) time.Duration {
			if first && next.Status == store.StatusInProgress {
				first = false
				return 15 * time.Second // after the next renewal, before the one after it
			}
			return 0
		}}
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
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			s.change(func(r *store.Record) {
				r.Lease = r.Lease.Add(time.Minute) // a renewal of ours whose reply never came
			})
			time.Sleep(time.Minute)
			return receipt{}, ctx.Err()
		}
		s.mustHandleFor(forever, 1)
		assert.Equal(t, report.Completed, s.event().Settlement)
	})
}

func TestADeniedRenewalIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		denied := 0
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSwap && c.Next.Status == store.StatusInProgress && denied < 2 {
				denied++
				return storetest.Deny // the credentials have expired; the SDK renews them meanwhile
			}
			return storetest.Pass
		})
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			time.Sleep(2 * time.Minute)
			return receipt{Charge: 1}, context.Cause(ctx)
		}
		s.mustHandleFor(forever, 1)
		assert.Equal(t, 2, denied)
		assert.Equal(t, report.Completed, s.event().Settlement)
	})
}

// slowCalls lets calls take time and then succeed, whatever their context says.
type slowCalls struct {
	store.Store

	get, claim time.Duration
}

func (s *slowCalls) Get(ctx context.Context, key string) (store.Record, bool, error) {
	time.Sleep(s.get)
	return s.Store.Get(context.WithoutCancel(ctx), key)
}

func (s *slowCalls) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	held, claimed, err := s.Store.Claim(context.WithoutCancel(ctx), r, now)
	d := s.claim
	s.claim = 0
	time.Sleep(d)
	return held, claimed, err
}

func TestTheHandlerNeverStartsUnderALeaseThatIsPartlyUsedUp(t *testing.T) {
	full := idempotent.DefaultLease - time.Second
	bubble(t, "after a slow look", func(t *testing.T) {
		slow := &slowCalls{Store: memory.New()}
		s := newShopOn(t, slow, nil, idempotent.WithWait(10*time.Minute))
		blocking := s.put(func(r *store.Record) { r.Lease = time.Now().Add(time.Second) })
		slow.get = 31 * time.Second
		s.do = func(context.Context, order) (receipt, error) {
			slow.get = 0
			r := s.mustRecord()
			assert.NotEqual(t, blocking.Owner, r.Owner)
			assert.GreaterOrEqual(t, time.Until(r.Lease), full)
			return receipt{}, nil
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 1)
	})
	bubble(t, "after a slow claim", func(t *testing.T) {
		slow := &slowCalls{Store: memory.New(), claim: 25 * time.Second}
		s := newShopOn(t, slow, noRenewal)
		s.do = func(context.Context, order) (receipt, error) {
			assert.GreaterOrEqual(t, time.Until(s.mustRecord().Lease), full)
			return receipt{}, nil
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 1)
		assert.Equal(t, report.Completed, s.event().Settlement)
	})
	bubble(t, "of a machine that was suspended", func(t *testing.T) {
		// The clock of records goes on while that of contexts stands still.
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		suspended := func(c storetest.Call) storetest.Fault {
			if c.N == 1 {
				ahead.Store(int64(time.Minute)) // between the claim and the start of the handler
			}
			return storetest.Pass
		}
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
	inBubble(t, func(t *testing.T) {
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpClaim {
				ahead.Add(int64(time.Minute))
			}
			return storetest.Pass
		}, idempotent.WithClock(now))
		s.mustFail(1, idempotent.ErrStoreUnavailable)
		claim, undo := storetest.OpClaim, storetest.OpDelete
		assert.Equal(t, []storetest.Op{claim, undo, claim, undo, claim, undo}, s.store.Ops(), "each one is taken back")
		assertExecuted(t, s, 0)
	})
}

func TestAClaimThatComesAfterItsDeadlineIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		slow := &slowCalls{Store: memory.New(), claim: 10*time.Second + time.Millisecond}
		s := newShopOn(t, slow, when(storetest.Slow, func(c storetest.Call) bool { return c.Op == storetest.OpDelete }))
		s.mustFail(1, idempotent.ErrStoreUnavailable)
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpDelete}, s.store.Ops())
		s.assertGone()
		assertExecuted(t, s, 0)
	})
}

func TestAClaimThatIsTakenBackLeavesTimeToAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpDelete {
				return storetest.HangBefore
			}
			ahead.Add(int64(time.Minute))
			return storetest.Pass
		}, idempotent.WithClock(now))
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
	for name, timeout := range map[string]time.Duration{
		"of a near deadline": 5 * time.Second,
		"of a far one":       5 * time.Hour,
	} {
		bubble(t, name, func(t *testing.T) {
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
}

func TestAProcessThatIsKilledAtItsDeadlineRenewsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			<-ctx.Done()
			return receipt{}, ctx.Err() // half a second before the deadline
		}
		s.mustFailFor(5*time.Second, 1, errAny)
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpDelete}, s.store.Ops())
	})
}

func TestAnOverrunWithinHalfOfTheMarginRenewsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(context.Context, order) (receipt, error) {
			// Lambda kills a process within that time
			time.Sleep(5*time.Second + idempotent.DefaultMargin/2 - time.Nanosecond)
			return receipt{Charge: 1}, nil
		}
		s.mustHandleFor(5*time.Second, 1)
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpSwap}, s.store.Ops())
	})
}

// The handler returns in the instant in which its overrun would be noticed: either comes first.
func TestARenewalDoesNotBeginAfterTheHandlerHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 100 {
			s := newShop(t)
			s.do = func(context.Context, order) (receipt, error) {
				time.Sleep(5*time.Second + idempotent.DefaultMargin/2)
				return receipt{Charge: 1}, nil
			}
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
	for name, tc := range map[string]struct {
		err    error
		status store.Status
	}{
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
	} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t)
			s.do = fails(tc.err)
			s.mustFail(1, errAny)
			r, _ := s.record()
			assert.Equal(t, tc.status, r.Status)
		})
	}
}

func TestNotExecutedReleasesWhatSomeoneElseMadeUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, unrepeatable())
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			s.change(func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, "crashed" })
			return receipt{}, idempotent.NotExecuted(errCard)
		}
		s.mustFail(1, errCard)
		s.assertGone("the key is free")
		assert.Equal(t, report.Released, s.event().Settlement)
		assert.NoError(t, s.event().StoreErr)
	})
}

func TestWhatHasExpiredIsGone(t *testing.T) {
	for name, change := range map[string]func(r *store.Record){
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
	} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t, unrepeatable(), amountFingerprint())
			s.put(change)
			time.Sleep(25 * time.Hour)
			got := s.mustHandle(1)
			assert.Equal(t, int64(1), got.Charge)
			assert.Equal(t, 1, s.mustRecord().Attempt, "a first execution: nothing of the old record survives")
		})
	}
}

func TestAnExpiredRecordIsProtectedWhileItsLeaseLives(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) { r.Lease, r.Expiry = time.Now().Add(time.Minute), time.Now().Add(time.Second) })
		time.Sleep(2 * time.Second)
		s.mustFail(1, idempotent.ErrInProgress)
		assertExecuted(t, s, 0)
	})
}
