package protocol_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestASettlementEndsWhileItsLeaseLives(t *testing.T) {
	type row struct {
		timing idempotent.Timing
		size   int
		takes  time.Duration
	}
	each(t, map[string]row{
		"the budget is longer than the lease": {
			idempotent.Timing{Lease: 3 * time.Second, Margin: time.Second},
			10,
			2100 * time.Millisecond,
		},
		"6 MB in 10 s":  {idempotent.Timing{Lease: 10 * time.Second}, 6 << 20, 10 * time.Second},
		"12 MB in 22 s": {idempotent.Timing{}, 12 << 20, 22 * time.Second},
	}, func(t *testing.T, tc row) {
		executed, lease := 0, idempotent.DefaultLease
		if tc.timing.Lease > 0 {
			lease = tc.timing.Lease
		}
		handler := idempotent.Wrap(func(context.Context, string) (string, error) {
			if executed++; executed == 1 {
				time.Sleep(lease/3 - time.Millisecond) // just before the first renewal
			}
			return strings.Repeat("x", tc.size), nil
		}, steady(tc.takes), append(keyed[string]("k"), idempotent.WithTiming(tc.timing))...)
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
}

func TestAnOutageOfReadsIsAnsweredWithinTheBudget(t *testing.T) {
	each(t, map[string]time.Duration{
		"no deadline": forever, "29 s": 29 * time.Second, "15 min": 15 * time.Minute,
	}, func(t *testing.T, timeout time.Duration) {
		s := newShopInParts(t, func(context.Context) ([]byte, error) {
			return nil, noAnswer(store.FailureThrottled)
		})
		began := time.Now()
		s.mustFailFor(timeout, 5, idempotent.ErrStoreUnavailable)
		assert.Less(t, time.Since(began), idempotent.DefaultClaimBudget+time.Second)
	})
}

// The first claim is never answered, and then a transaction is under way.
func TestAClaimThatThenMeetsATransactionIsUndone(t *testing.T) {
	silent, claims := hook(), 0
	silent.claim = func(ctx context.Context, _ store.Record, _ time.Time) (store.Record, bool, error) {
		if claims++; claims > 1 {
			return store.Record{}, false, noAnswer(store.FailureConflict)
		}
		<-ctx.Done()
		return store.Record{}, false, noAnswer(store.FailureTimeout)
	}
	deliveryCase{
		on: silent, err: idempotent.ErrStoreUnavailable,
		then: func(s *shop, _ error) { assert.Contains(s.t, s.store.Ops(), remove, "the first claim may still land") },
	}.deliver(t, "never answered")
}

// Or it would be executed again for ever.
func TestAResultThatIsRefusedAsInvalidIsUnknownAlsoIfItMayBeRepeated(t *testing.T) {
	invalid := hook()
	invalid.swap = func(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
		if next.Result != nil {
			return store.Record{}, false, noAnswer(store.FailureRejected)
		}
		return invalid.Store.Swap(ctx, seen, next)
	}
	deliveryCase{
		on: invalid, opts: []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)},
		runs: 1, left: store.StatusUnknown, reason: "result-lost",
	}.deliver(t, "rejected")
}

func TestAReleaseWhoseReplyWasLostIsARelease(t *testing.T) {
	deliveryCase{
		rule: inTurn(isOp(remove), storetest.LoseReply, storetest.Pass, storetest.Deny), do: fails(errCard),
		err: errCard, runs: 1, settled: report.Released,
	}.deliver(t, "and then denied")
}
