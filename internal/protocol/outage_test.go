package protocol_test

import (
	"context"
	"strings"
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

func TestASettlementEndsWhileItsLeaseLives(t *testing.T) {
	for name, tc := range map[string]struct {
		timing idempotent.Timing
		size   int
		takes  time.Duration
	}{
		"the budget is longer than the lease": {
			idempotent.Timing{Lease: 3 * time.Second, Margin: time.Second},
			10,
			2100 * time.Millisecond,
		},
		"6 MB in 10 s":  {idempotent.Timing{Lease: 10 * time.Second}, 6 << 20, 10 * time.Second},
		"12 MB in 22 s": {idempotent.Timing{}, 12 << 20, 22 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				executed, lease := 0, idempotent.DefaultLease
				if tc.timing.Lease > 0 {
					lease = tc.timing.Lease
				}
				handler := idempotent.Wrap(func(context.Context, string) (string, error) {
					if executed++; executed == 1 {
						time.Sleep(lease/3 - time.Millisecond) // just before the first renewal
					}
					return strings.Repeat("x", tc.size), nil
				}, steady{memory.New(), tc.takes}, append(keyed[string]("k"), idempotent.WithTiming(tc.timing))...)
				first := make(chan error)
				go func() {
					_, err := handler.Handle(t.Context(), "")
					first <- err
				}()
				time.Sleep(lease + 10*time.Millisecond)
				_, err := handler.Handle(t.Context(), "")
				require.Error(t, err)
				require.NoError(t, <-first)
				assert.Equal(t, 1, executed, "the first one lived all the time")
			})
		})
	}
}

// throttledReads holds results in parts that it cannot read.
type throttledReads struct{ store.Store }

func (throttledReads) ReadResult(context.Context, store.Record) ([]byte, error) {
	return nil, &store.Error{Op: "read result", Kind: store.FailureThrottled, NotApplied: true, Err: errCard}
}

func TestAnOutageOfReadsIsAnsweredWithinTheBudget(t *testing.T) {
	for name, timeout := range map[string]time.Duration{
		"no deadline": 0, "29 s": 29 * time.Second,
		"15 min": 15 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShopOn(t, throttledReads{memory.New()}, nil)
				s.put(func(r *store.Record) {
					completed(r, `{"charge":7}`)
					r.Result, r.Parts = nil, "1"
				})
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, timeout)
				}
				defer cancel()
				began := time.Now()
				_, err := s.handler.Handle(ctx, order{ID: "o-1"})
				require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
				assert.Less(t, time.Since(began), idempotent.DefaultClaimBudget+time.Second)
			})
		})
	}
}

// silentThenBusy never answers the first claim, and then has a transaction under way.
type silentThenBusy struct {
	store.Store

	claims int
}

func (s *silentThenBusy) Claim(ctx context.Context, _ store.Record, _ time.Time) (store.Record, bool, error) {
	if s.claims++; s.claims == 1 {
		<-ctx.Done()
		return store.Record{}, false, &store.Error{Op: "claim", Kind: store.FailureTimeout, Err: ctx.Err()}
	}
	return store.Record{}, false, &store.Error{Op: "claim", Kind: store.FailureConflict, NotApplied: true, Err: errCard}
}

func TestAClaimThatThenMeetsATransactionIsUndone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, &silentThenBusy{Store: memory.New()}, nil)
		_, err := s.handle(5)
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		assert.Contains(t, s.store.Ops(), storetest.OpDelete, "the first claim may still land")
		assertExecuted(t, s, 0)
	})
}

func TestAResultThatIsRefusedAsInvalidIsUnknownAlsoIfItMayBeRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, invalidStore{memory.New()}, nil, idempotent.WithEffects(idempotent.Repeatable))
		s.mustHandle(5)
		assert.Equal(t, "result-lost", s.mustRecord().Reason, "or it would be executed again for ever")
	})
}

// invalidStore refuses results as invalid.
type invalidStore struct{ store.Store }

func (s invalidStore) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if next.Result != nil {
		return store.Record{}, false,
			&store.Error{Op: "swap", Kind: store.FailureRejected, NotApplied: true, Err: errCard}
	}
	return s.Store.Swap(ctx, seen, next)
}

func TestAReleaseWhoseReplyWasLostIsARelease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		deletes := 0
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op != storetest.OpDelete {
				return storetest.Pass
			}
			switch deletes++; deletes {
			case 1:
				return storetest.LoseReply
			case 2:
				return storetest.Pass
			default:
				return storetest.Deny
			}
		})
		s.do = func(context.Context, order) (receipt, error) { return receipt{}, errCard }
		_, err := s.handle(5)
		require.ErrorIs(t, err, errCard)
		assert.Equal(t, report.Released, s.event().Settlement)
	})
}
