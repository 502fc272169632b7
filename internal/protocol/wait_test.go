package protocol_test

import (
	"context"
	"errors"
	"sync"
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

// running starts a delivery of order "o-1" in another sandbox, whose handler takes d and then ends
// as do says. The returned function waits for it.
func (s *shop) running(d time.Duration, do func(ctx context.Context, o order) (receipt, error)) (done func()) {
	s.t.Helper()
	first := s.sandbox(nil)
	started, ended := make(chan struct{}), make(chan struct{})
	first.do = func(ctx context.Context, o order) (receipt, error) {
		close(started)
		time.Sleep(d)
		return do(ctx, o)
	}
	go func() {
		defer close(ended)
		_, _ = first.handle(1) // what it returns is that handler's business
	}()
	<-started
	return func() { <-ended }
}

func charged(context.Context, order) (receipt, error) { return receipt{Charge: 77, Amount: 1}, nil }

func TestDeliveryWaitsForTheResultOfTheOneThatRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithWait(5*time.Second))
		done := s.running(3*time.Second, charged)
		began := time.Now()
		s.mustGet(1, receipt{Charge: 77, Amount: 1})
		assertExecuted(t, s, 1)
		assert.InDelta(t, 4, time.Since(began).Seconds(), 1.01, "the result is seen within one interval after it came")
		event := s.event()
		assert.Equal(t, report.Replayed, event.Outcome)
		assert.Equal(t, time.Since(began), event.Claim.Took+event.Wait.Took)
		done()
	})
}

func TestWaitingIsCheapOnTheTable(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithWait(time.Minute))
		done := s.running(8*time.Second, charged)
		s.mustHandleFor(25*time.Second, 1)
		done()
		calls := s.store.Calls()
		assert.Equal(t, storetest.OpClaim, calls[0].Op)
		for _, c := range calls[1:] {
			assert.Equal(t, storetest.OpGet, c.Op, "the looks are reads")
		}
		assert.Greater(t, len(calls), 5, "it looks early")
		assert.Less(t, len(calls), 16, "and then ever less often")
	})
}

func TestWaitEndsWithTheOptionOrTheDeadline(t *testing.T) {
	type row struct {
		wait, timeout, least, most time.Duration
	}
	each(t, map[string]row{
		"option":   {3 * time.Second, 30 * time.Second, 3 * time.Second, 3 * time.Second},
		"deadline": {time.Minute, 5 * time.Second, 4500 * time.Millisecond, 4900 * time.Millisecond},
		"short":    {time.Minute, 100 * time.Millisecond, 50 * time.Millisecond, 99 * time.Millisecond},
	}, func(t *testing.T, tc row) {
		s := newShop(t, idempotent.WithWait(tc.wait))
		done := s.running(9*time.Second, charged)
		began := time.Now()
		_, err := s.handleFor(tc.timeout, 1)
		waited := time.Since(began)
		var inProgress *idempotent.Error
		require.ErrorAs(t, err, &inProgress)
		require.ErrorIs(t, err, idempotent.ErrInProgress)
		assert.Equal(t, 12*time.Second-waited, inProgress.RetryAfter.Round(time.Millisecond),
			"as of the last look")
		assert.GreaterOrEqual(t, waited, tc.least)
		assert.LessOrEqual(t, waited, tc.most)
		done()
		assertExecuted(t, s, 1)
	})
}

func TestWithoutTheOptionADeliveryIsAnsweredAtOnce(t *testing.T) {
	for name, opts := range map[string][]idempotent.Option{"default": nil, "zero": {idempotent.WithWait(0)}} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t, opts...)
			done := s.running(time.Second, charged)
			began := time.Now()
			s.mustFail(1, idempotent.ErrInProgress)
			assert.Zero(t, time.Since(began))
			assert.Zero(t, s.event().Wait.Took)
			done()
		})
	}
}

func TestEveryLookRunsTheWholeList(t *testing.T) {
	type row struct {
		change func(r *store.Record)
		opts   []idempotent.Option
		want   error
	}
	each(t, map[string]row{
		"unknown": {
			unknown,
			nil, idempotent.ErrUnknownOutcome,
		},
		"unreadable": {
			func(r *store.Record) { r.Status = "PAUSED" },
			nil, idempotent.ErrUnreadable,
		},
		"altered result": {
			func(r *store.Record) { completed(r, `{"charge":1}`); r.Result = []byte(`{"charge":2}`) },
			nil, idempotent.ErrUnreadable,
		},
		"another request": {
			func(r *store.Record) {
				f := []byte(r.Fingerprint)
				f[len(f)-2], f[len(f)-3] = f[len(f)-3], f[len(f)-2]
				r.Fingerprint = string(f)
			},
			[]idempotent.Option{amountFingerprint()},
			idempotent.ErrMismatch,
		},
		"crashed, to be refused": {
			func(r *store.Record) { r.Lease = time.Now().Add(-time.Second) },
			[]idempotent.Option{unrepeatable()},
			idempotent.ErrUnknownOutcome,
		},
	}, func(t *testing.T, tc row) {
		s := newShop(t, append(tc.opts, idempotent.WithWait(5*time.Second))...)
		if len(tc.opts) > 0 {
			probe := s.sandbox(nil, tc.opts...)
			probe.do = func(context.Context, order) (receipt, error) {
				s.awaitChange(tc.change)
				time.Sleep(30 * time.Second)
				return receipt{}, errCard
			}
			go func() { _, _ = probe.handle(1) }()
			time.Sleep(time.Millisecond)
		} else {
			s.put(func(*store.Record) {})
			go s.awaitChange(tc.change)
		}
		s.mustFail(1, tc.want)
		time.Sleep(time.Minute)
		assert.Equal(t, int64(min(len(tc.opts), 1)), s.executed.Load(), "only the first one executed")
	})
}

// awaitChange changes the record of order "o-1" a second from now.
func (s *shop) awaitChange(change func(r *store.Record)) {
	time.Sleep(time.Second)
	seen := s.mustRecord()
	next := seen
	change(&next)
	deleted, err := s.inner.Delete(s.t.Context(), seen) // a swap would not move a lease back
	assert.NoError(s.t, err)
	assert.True(s.t, deleted)
	_, claimed, err := s.inner.Claim(s.t.Context(), next, time.Now())
	assert.NoError(s.t, err)
	assert.True(s.t, claimed)
}

func TestWaiterExecutesWhatTheFirstOneDidNot(t *testing.T) {
	failed := fails(errCard)
	each(t, map[string]func(s *shop){
		"released": func(s *shop) { s.running(time.Second, failed) },
		"crashed": func(s *shop) {
			s.put(func(r *store.Record) { r.Lease = time.Now().Add(2 * time.Second).Truncate(time.Second) })
		},
		"deleted by an operator": func(s *shop) {
			r := s.put(func(*store.Record) {})
			time.AfterFunc(time.Second, func() { _, _ = s.inner.Delete(context.Background(), r) })
		},
	}, func(t *testing.T, start func(s *shop)) {
		s := newShop(t, idempotent.WithWait(8*time.Second))
		start(s)
		before := s.executed.Load()
		deadline := time.Now().Add(10 * time.Second)
		s.do = func(context.Context, order) (receipt, error) {
			r := s.mustRecord()
			assert.True(t, r.Lease.Equal(deadline.Add(idempotent.DefaultMargin)), "a lease for the whole rest")
			return charged(t.Context(), order{})
		}
		got := s.mustHandle(1)
		assert.Equal(t, int64(77), got.Charge)
		assert.Equal(t, before+1, s.executed.Load())
		assert.Equal(t, report.Executed, s.event().Outcome)
		assert.Equal(t, store.StatusCompleted, s.mustRecord().Status)
	})
}

func TestWaiterWithoutADeadlineClaimsAWholeLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithWait(time.Hour))
		s.running(20*time.Second, fails(errCard))
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			left := time.Until(s.mustRecord().Lease)
			assert.Greater(t, left, idempotent.DefaultLease-100*time.Millisecond)
			time.Sleep(50 * time.Second) // longer than a lease: it is renewed from when it was claimed
			return receipt{Charge: 1}, ctx.Err()
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 2)
	})
}

func TestWaiterDoesNotBeginAtTheLastMoment(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithWait(time.Minute))
		s.running(9*time.Second, fails(errCard))
		_, err := s.handle(1) // 10 s
		var inProgress *idempotent.Error
		require.ErrorAs(t, err, &inProgress)
		require.ErrorIs(t, err, idempotent.ErrInProgress)
		assert.Zero(t, inProgress.RetryAfter, "the key is free: retry at once")
		assertExecuted(t, s, 1)
		s.assertGone()
	})
}

func TestManyWaitersGetTheOneResult(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.running(time.Second, fails(errCard))
		results := make(chan receipt)
		for range 20 {
			other := s.sandbox(nil, idempotent.WithWait(20*time.Second))
			other.do = func(context.Context, order) (receipt, error) {
				time.Sleep(3 * time.Second)
				return receipt{Charge: s.executed.Load()}, nil
			}
			go func() {
				got, err := other.handleFor(30*time.Second, 1)
				assert.NoError(t, err)
				results <- got
			}()
		}
		for range 20 {
			assert.Equal(t, receipt{Charge: 2}, <-results)
		}
		assertExecuted(t, s, 2)
	})
}

func TestAnOutageWhileWaitingIsNoResult(t *testing.T) {
	refuse, pass := storetest.Refuse, storetest.Pass
	type row struct {
		faults []storetest.Fault // of the looks
		want   error
	}
	each(t, map[string]row{
		"passing": {[]storetest.Fault{pass, storetest.LoseReply, refuse, pass, storetest.LoseReply, refuse, pass}, nil},
		"hanging": {[]storetest.Fault{storetest.HangBefore, pass}, nil},
		"lasting": {[]storetest.Fault{refuse}, idempotent.ErrInProgress},
		"denied":  {[]storetest.Fault{storetest.Deny}, idempotent.ErrStoreUnavailable},
	}, func(t *testing.T, tc row) {
		s := newShop(t)
		waiter := s.sandbox(inTurn(isOp(storetest.OpGet), tc.faults...), idempotent.WithWait(15*time.Second))
		done := s.running(3*time.Second, charged)
		got, err := waiter.handleFor(25*time.Second, 1)
		require.ErrorIs(t, err, tc.want)
		if tc.want == nil {
			assert.Equal(t, int64(77), got.Charge)
		} else {
			assert.Error(t, waiter.event().StoreErr)
		}
		done()
		assertExecuted(t, s, 1)
	})
}

func TestWaiterThatIsCancelledStopsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithWait(time.Minute))
		done := s.running(9*time.Second, charged)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("unused"))
		time.AfterFunc(1500*time.Millisecond, cancel)
		began := time.Now()
		s.mustFailWith(ctx, idempotent.ErrInProgress)
		assert.Equal(t, 1500*time.Millisecond, time.Since(began))
		done()
	})
}

func TestNegativeWaitIsRefusedWhenWrapping(t *testing.T) {
	assert.PanicsWithError(t, "idempotent: configuration: WithWait: -1s is less than 0s", func() {
		newShop(t, idempotent.WithWait(-time.Second))
	})
}

// The network hands the store the first claim that was refused once more, some time after it.
func TestAClaimThatComesToLifeLateIsNotOursAnyMore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		echoing := hook()
		var once sync.Once
		echoing.claim = func(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
			held, claimed, err := echoing.Store.Claim(ctx, r, now)
			if !claimed {
				once.Do(func() {
					time.AfterFunc(time.Second+time.Microsecond,
						func() { _, _, _ = echoing.Store.Claim(context.WithoutCancel(ctx), r, now) })
				})
			}
			return held, claimed, err
		}
		s := newShopOn(t, echoing, nil, idempotent.WithWait(5*time.Second))
		done := s.running(time.Second, fails(errCard))
		s.mustFail(1, idempotent.ErrInProgress)
		done()
		assertExecuted(t, s, 1)
	})
}

// TestWaitIsOverWhenItEnds: a slow answer to the last look does not come behind the end.
func TestWaitIsOverWhenItEnds(t *testing.T) {
	steady := func(int) time.Duration { return 400 * time.Millisecond }
	slower := func(n int) time.Duration { return time.Duration(n) * 200 * time.Millisecond }
	hangs := func(n int) time.Duration { return time.Duration(n-1) * time.Hour }
	type row struct {
		takes       func(int) time.Duration
		least, most time.Duration
	}
	each(t, map[string]row{
		"steady":          {steady, 2500 * time.Millisecond, 3 * time.Second},
		"ever slower":     {slower, 2 * time.Second, 3010 * time.Millisecond},
		"hangs after one": {hangs, 2 * time.Second, 3010 * time.Millisecond},
		"hangs from the first": {
			func(int) time.Duration { return time.Hour }, 2 * time.Second,
			3010 * time.Millisecond,
		},
	}, func(t *testing.T, tc row) {
		s := newShopOn(t, memory.New(), nil)
		done := s.running(9*time.Second, charged)
		slow, n := &hooked{Store: s.inner}, 0
		slow.get = func(ctx context.Context, key string) (store.Record, bool, error) {
			n++
			select {
			case <-time.After(tc.takes(n)):
				return s.inner.Get(ctx, key)
			case <-ctx.Done():
				return store.Record{}, false, ctx.Err()
			}
		}
		waiter := newShopOn(t, slow, nil, idempotent.WithWait(3*time.Second))
		began := time.Now()
		waiter.mustFailFor(30*time.Second, 1, idempotent.ErrInProgress)
		assert.GreaterOrEqual(t, time.Since(began), tc.least)
		assert.LessOrEqual(t, time.Since(began), tc.most)
		done()
	})
}
