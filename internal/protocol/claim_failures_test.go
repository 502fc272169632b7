package protocol_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStoreErrorOfNoKnownKindIsRetriedAsOneOfUnknownOutcome(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		failing := &failingClaims{Store: memory.New(), err: errors.New("odd"), times: 2}
		s := newShopOn(t, failing, nil)
		s.mustHandle(1)
		assertExecuted(t, s, 1)
	})
}

func TestRecordThatTheStoreCannotReadIsReportedAndLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		failing := &failingClaims{Store: memory.New(), err: &store.UnreadableError{Reason: "attribute odd"}, times: 1}
		s := newShopOn(t, failing, nil)
		_, err := s.handle(1)
		var unreadable *idempotent.Error
		require.ErrorAs(t, err, &unreadable)
		require.ErrorIs(t, err, idempotent.ErrUnreadable)
		assert.Equal(t, "shop", unreadable.Operation)
		assert.Equal(t, "attribute odd", unreadable.Reason)
		assert.Equal(t, []storetest.Op{storetest.OpClaim}, s.store.Ops(), "neither repeated nor undone")
		assertExecuted(t, s, 0)
	})
}

func TestOutageIsReportedByItsCauseAndNotByTheTimeThatRanOut(t *testing.T) {
	for name, refused := range map[string]int{"first": 1, "behind a call without an answer": 2} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
					if c.N == refused {
						return storetest.Refuse
					}
					return storetest.HangBefore
				})
				_, err := s.handle(1)
				require.ErrorContains(t, err, "throttled")
			})
		})
	}
}

type failingClaims struct {
	store.Store
	err   error
	times int
}

func (f *failingClaims) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if f.times > 0 {
		f.times--
		return store.Record{}, false, f.err
	}
	return f.Store.Claim(ctx, r, now)
}

// repeating is a store that answers the first claim late, and that the network hands the undo of
// that claim once more, after the next claim.
type repeating struct {
	store.Store
	takes time.Duration

	mu    sync.Mutex
	undo  *store.Record
	calls int
}

func (r *repeating) Claim(ctx context.Context, next store.Record, now time.Time) (store.Record, bool, error) {
	held, claimed, err := r.Store.Claim(ctx, next, now)
	r.mu.Lock()
	r.calls++
	call, undo := r.calls, r.undo
	r.mu.Unlock()
	switch call {
	case 1:
		time.Sleep(r.takes)
	case 2:
		time.AfterFunc(time.Second, func() { _, _ = r.Store.Delete(context.WithoutCancel(ctx), *undo) })
	}
	return held, claimed, err
}

func (r *repeating) Delete(ctx context.Context, seen store.Record) (bool, error) {
	r.mu.Lock()
	if r.undo == nil {
		r.undo = &seen
	}
	r.mu.Unlock()
	return r.Store.Delete(ctx, seen)
}

func TestAClaimThatIsBegunAnewIsNotEndedByTheUndoOfTheFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		records := &repeating{Store: memory.New(), takes: 12 * time.Second} // a machine that was suspended
		s := newShopOn(t, records, nil)
		s.do = func(context.Context, order) (receipt, error) {
			time.Sleep(3 * time.Second)
			return receipt{Charge: 1}, nil
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.handler.Handle(t.Context(), order{ID: "o-1"})
			assert.NoError(t, err)
		})
		time.Sleep(14 * time.Second) // the handler runs, and the copy has come
		_, err := s.sandbox(nil).handle(1)
		assert.ErrorIs(t, err, idempotent.ErrInProgress)
		wg.Wait()
		assert.NotNil(t, records.undo, "the first claim took too long")
		assertExecuted(t, s, 1)
	})
}

// A lease that is renewed may have lost a third when the handler starts: then its first renewal is
// due at once.
func TestAClaimThatTookLongIsBegunAnewOnlyIfARenewalIsOverdue(t *testing.T) {
	for takes, claims := range map[time.Duration]int{
		idempotent.DefaultLease/3 - time.Millisecond: 1,
		idempotent.DefaultLease/3 + time.Millisecond: 2,
	} {
		t.Run(takes.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				records := &repeating{Store: memory.New(), takes: takes}
				s := newShopOn(t, records, nil)
				_, err := s.handler.Handle(t.Context(), order{ID: "o-1"})
				require.NoError(t, err)
				assert.Equal(t, claims, records.calls)
				time.Sleep(2 * time.Second) // the copy of the undo comes
				assertExecuted(t, s, 1)
			})
		})
	}
}

func TestManyDeliveriesAtOnceExecuteOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(_ context.Context, o order) (receipt, error) {
			time.Sleep(time.Second)
			return receipt{Charge: 1, Amount: o.Amount}, nil
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				for {
					got, err := s.handle(5)
					if err == nil {
						assert.Equal(t, receipt{Charge: 1, Amount: 5}, got)
						return
					}
					if !assert.ErrorIs(t, err, idempotent.ErrInProgress) {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		assertExecuted(t, s, 1)
	})
}

// apart is a store that keeps results beside their records, and whose first read of one is never
// answered.
type apart struct {
	store.Store
	result []byte
	reads  int
}

func (a *apart) ReadResult(ctx context.Context, _ store.Record) ([]byte, error) {
	if a.reads++; a.reads == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return a.result, nil
}

func TestReadOfAResultThatIsNeverAnsweredIsRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		records := &apart{Store: memory.New(), result: []byte(`{"charge":7}`)}
		s := newShopOn(t, records, nil)
		s.put(func(r *store.Record) {
			completed(r, string(records.result))
			r.Result, r.Parts = nil, "1"
		})
		handler := idempotent.Wrap(s.charge, records, idempotent.WithOperation("shop"),
			idempotent.WithFingerprint(func(o order) (any, error) { return o.ID, nil }),
			idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
		got, err := handler.Handle(t.Context(), order{ID: "o-1"})
		require.NoError(t, err)
		assert.Equal(t, receipt{Charge: 7}, got)
		assert.Equal(t, 2, records.reads)
	})
}

// unhurried is a store whose results are in parts that take some time to read, unless their context
// ends before.
type unhurried struct {
	store.Store
	result []byte
	takes  time.Duration
}

func (u unhurried) ReadResult(ctx context.Context, _ store.Record) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(u.takes):
		return u.result, nil
	}
}

// What could be stored can be replayed: reading it has the time that is left, and not only that of
// a claim.
func TestReadOfAResultHasTheTimeThatIsLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		takes, timeout, most time.Duration
		err                  error
	}{
		"with a deadline":    {5 * time.Second, 10 * time.Second, 5 * time.Second, nil},
		"without a deadline": {20 * time.Second, 0, 20 * time.Second, nil},
		"that is over": {
			time.Hour, 10 * time.Second, 9900 * time.Millisecond,
			idempotent.ErrStoreUnavailable,
		},
		"that is over, no deadline":   {time.Hour, 0, 30 * time.Second, idempotent.ErrStoreUnavailable},
		"that is over, far deadline":  {time.Hour, 10 * time.Minute, 30 * time.Second, idempotent.ErrStoreUnavailable},
		"that is over, near deadline": {time.Hour, time.Second, 900 * time.Millisecond, idempotent.ErrStoreUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				records := unhurried{memory.New(), []byte(`{"charge":7}`), tc.takes}
				s := newShopOn(t, records, nil)
				s.put(func(r *store.Record) {
					completed(r, string(records.result))
					r.Result, r.Parts = nil, "1"
				})
				handler := idempotent.Wrap(s.charge, records, idempotent.WithOperation("shop"),
					idempotent.WithFingerprint(func(o order) (any, error) { return o.ID, nil }),
					idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if tc.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, tc.timeout)
				}
				defer cancel()
				started := time.Now()
				got, err := handler.Handle(ctx, order{ID: "o-1"})
				require.ErrorIs(t, err, tc.err)
				assert.LessOrEqual(t, time.Since(started), tc.most)
				if tc.err == nil {
					assert.Equal(t, receipt{Charge: 7}, got)
				}
			})
		})
	}
}

// deaf is a store that answers claims late, whatever their context says, and deletes nothing until
// theirs ends.
type deaf struct{ store.Store }

func (deaf) Claim(context.Context, store.Record, time.Time) (store.Record, bool, error) {
	time.Sleep(2 * idempotent.DefaultClaimBudget)
	return store.Record{}, false, errors.New("no answer")
}

func (deaf) Delete(ctx context.Context, _ store.Record) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// suspended is a store whose claims are answered when a third of their lease is over, and that
// deletes nothing until the context ends.
type suspended struct{ deaf }

func (s suspended) Claim(ctx context.Context, next store.Record, now time.Time) (store.Record, bool, error) {
	time.Sleep(idempotent.DefaultLease/3 + time.Second)
	return s.Store.Claim(context.WithoutCancel(ctx), next, now)
}

func TestAnUndoHasItsBudgetHoweverFarTheDeadlineIs(t *testing.T) {
	for _, timeout := range []time.Duration{20 * time.Minute, 5 * time.Hour} {
		t.Run(timeout.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShopOn(t, suspended{deaf{memory.New()}}, nil)
				started := time.Now()
				_, err := s.handleFor(timeout, 1)
				require.Error(t, err)
				assert.Less(t, time.Since(started), time.Minute)
				assertExecuted(t, s, 0)
			})
		})
	}
}

func TestAnUndoForWhichNoTimeIsLeftIsCutShort(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, deaf{memory.New()}, nil)
		started := time.Now()
		_, err := s.handle(1)
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		assert.Equal(t, 2*idempotent.DefaultClaimBudget, time.Since(started))
	})
}
