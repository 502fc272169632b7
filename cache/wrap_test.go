package cache_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// sandbox is a process with a handler that counts its executions, and a cache before the store that
// it shares.
type sandbox struct {
	*fixture

	handler  *idempotent.Handler[order, string]
	executed atomic.Int64
	receipt  string
	err      error
}

func newSandbox(t *testing.T, inner store.Store, opts ...idempotent.Option) *sandbox {
	t.Helper()
	s := &sandbox{fixture: newFixture(t, inner, 1<<20), receipt: "ch_1"}
	s.handler = idempotent.Wrap(s.charge, s.cache, append([]idempotent.Option{
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil }),
	}, opts...)...)
	return s
}

func (s *sandbox) charge(context.Context, order) (string, error) {
	s.executed.Add(1)
	return s.receipt, s.err
}

// deliver delivers an order as Lambda does, and returns the calls of the store that it took.
func (s *sandbox) deliver(amount int) (receipt string, calls []string, err error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	s.spy.calls()
	receipt, err = s.handler.Handle(ctx, order{ID: "o-1", Amount: amount})
	return receipt, s.spy.calls(), err
}

func TestARetryIsAnsweredWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, memory.New())
	receipt, calls, err := s.deliver(5)
	require.NoError(t, err)
	require.Equal(t, "ch_1", receipt)
	require.Equal(t, []string{"claim", "swap"}, calls)

	_, calls, err = s.deliver(5)
	require.NoError(t, err)
	require.Equal(t, []string{"claim"}, calls, "it is refused, and remembered from now on")

	s.spy.fail(true) // an outage changes nothing for it
	s.receipt = "ch_2"
	for range 3 {
		receipt, calls, err = s.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_1", receipt)
		require.Empty(t, calls)
	}
	_, calls, err = s.deliver(6)
	require.ErrorIs(t, err, idempotent.ErrMismatch)
	require.Empty(t, calls)
	require.EqualValues(t, 1, s.executed.Load())
}

func TestAnOutageIsAnOutageForWhatIsNotRemembered(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	first, second := newSandbox(t, inner), newSandbox(t, inner)
	_, _, err := first.deliver(5)
	require.NoError(t, err)

	second.spy.fail(true)
	_, _, err = second.deliver(5)
	require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
	second.spy.fail(false)
	receipt, calls, err := second.deliver(5)
	require.NoError(t, err)
	require.Equal(t, "ch_1", receipt)
	require.Equal(t, []string{"claim"}, calls)
	second.spy.fail(true)
	receipt, _, err = second.deliver(5)
	require.NoError(t, err)
	require.Equal(t, "ch_1", receipt)
	require.Zero(t, second.executed.Load())
}

func TestAResultInPartsIsReplayedWithoutTheStore(t *testing.T) {
	t.Parallel()
	inner := newParted()
	first, second := newSandbox(t, inner), newSandbox(t, inner)
	first.receipt = strings.Repeat("x", 3*inline)
	_, _, err := first.deliver(5)
	require.NoError(t, err)
	for _, want := range [][]string{{"claim", "read result"}, nil, nil} {
		receipt, calls, err := second.deliver(5)
		require.NoError(t, err)
		require.Equal(t, first.receipt, receipt)
		require.Equal(t, want, calls)
	}
}

func TestFromTheExpiryOnTheHandlerRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		s, other := newSandbox(t, inner), newSandbox(t, inner)
		_, _, err := s.deliver(5)
		require.NoError(t, err)
		_, _, err = s.deliver(5)
		require.NoError(t, err)
		time.Sleep(idempotent.DefaultRetention - idempotent.DefaultMargin - time.Millisecond)
		_, calls, err := s.deliver(5)
		require.NoError(t, err)
		require.Empty(t, calls)

		time.Sleep(idempotent.DefaultMargin + time.Millisecond)
		other.receipt = "ch_2"
		receipt, _, err := other.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_2", receipt)
		receipt, calls, err = s.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_2", receipt)
		require.Equal(t, []string{"claim"}, calls)
	})
}

func TestATerminalErrorIsReplayedWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, memory.New())
	s.err = idempotent.Terminal(errors.New("card declined"))
	_, _, err := s.deliver(5)
	require.EqualError(t, err, "card declined")
	var replayed *idempotent.ReplayedError
	for _, want := range [][]string{{"claim"}, nil} {
		_, calls, err := s.deliver(5)
		require.ErrorAs(t, err, &replayed)
		require.Equal(t, want, calls)
	}
}

func TestWhatFailedIsExecutedAgain(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, memory.New())
	s.err = errors.New("try again")
	for n := range 3 {
		_, calls, err := s.deliver(5)
		require.EqualError(t, err, "try again")
		require.Equal(t, []string{"claim", "delete"}, calls)
		require.EqualValues(t, n+1, s.executed.Load())
	}
}

func TestADeliveryThatWaitsLeavesTheAnswerToTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		running, waiting := newSandbox(t, inner), newSandbox(t, inner, idempotent.WithWait(5*time.Second))
		begun := make(chan struct{})
		slow := idempotent.Wrap(func(context.Context, order) (string, error) {
			close(begun)
			time.Sleep(time.Second)
			return "ch_1", nil
		}, running.cache,
			idempotent.WithOperation("charge"),
			idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
			idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil }))
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := slow.Handle(ctx, order{ID: "o-1", Amount: 5})
			assert.NoError(t, err)
		}()
		<-begun
		receipt, calls, err := waiting.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_1", receipt)
		require.Equal(t, "get", calls[len(calls)-1])
		for _, want := range [][]string{{"claim"}, nil} {
			_, calls, err = waiting.deliver(5)
			require.NoError(t, err)
			require.Equal(t, want, calls)
		}
		require.Zero(t, waiting.executed.Load())
	})
}

// TestALostLeaseIsSettledByWhatTheOtherCompleted: the other answer is remembered, one's own is not.
func TestALostLeaseIsSettledByWhatTheOtherCompleted(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	s, other := newSandbox(t, inner), newSandbox(t, inner)
	other.receipt = "ch_other"
	handler := idempotent.Wrap(func(ctx context.Context, o order) (string, error) {
		x, _ := idempotent.FromContext(ctx)
		held, _, err := inner.Get(ctx, x.RecordKey)
		require.NoError(t, err)
		_, err = inner.Delete(ctx, held) // as the table's time to live would, long after
		require.NoError(t, err)
		_, _, err = other.deliver(o.Amount)
		require.NoError(t, err)
		return "ch_mine", nil
	}, s.cache,
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil }))
	receipt, err := handler.Handle(t.Context(), order{ID: "o-1", Amount: 5})
	require.NoError(t, err)
	require.Equal(t, "ch_other", receipt)
	for _, want := range [][]string{{"claim"}, nil} {
		receipt, calls, err := s.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_other", receipt)
		require.Equal(t, want, calls)
	}
}

// TestWhatIsDeletedByHandIsReplayedWhereItIsRemembered is the exception that the package names.
func TestWhatIsDeletedByHandIsReplayedWhereItIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		s, other := newSandbox(t, inner), newSandbox(t, inner)
		_, _, err := s.deliver(5)
		require.NoError(t, err)
		held, _, err := s.cache.Claim(t.Context(), store.Record{Key: s.recordKey()}, time.Now())
		require.NoError(t, err)
		deleted, err := inner.Delete(t.Context(), held)
		require.NoError(t, err)
		require.True(t, deleted)

		receipt, _, err := s.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_1", receipt)
		other.receipt = "ch_2"
		receipt, _, err = other.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_2", receipt)

		time.Sleep(idempotent.DefaultRetention - idempotent.DefaultMargin)
		receipt, _, err = s.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_2", receipt, "no longer than to the expiry")
	})
}

// recordKey is the record key of an order, which a mismatch tells.
func (s *sandbox) recordKey() string {
	s.t.Helper()
	_, _, err := s.deliver(-1)
	var mismatch *idempotent.Error
	require.ErrorAs(s.t, err, &mismatch)
	require.ErrorIs(s.t, err, idempotent.ErrMismatch)
	return mismatch.RecordKey
}

func TestManyDeliveriesAtTheSameTimeGetTheSameResult(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, newParted())
	s.receipt = strings.Repeat("x", 3*inline)
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			for range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				receipt, err := s.handler.Handle(ctx, order{ID: string(rune('a' + n%4)), Amount: 5})
				cancel()
				if errors.Is(err, idempotent.ErrInProgress) {
					continue
				}
				assert.NoError(t, err)
				assert.Equal(t, s.receipt, receipt)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 4, s.executed.Load())
	s.spy.calls()
	for key := range "abcd" {
		_, err := s.handler.Handle(t.Context(), order{ID: string(rune('a' + key)), Amount: 5})
		require.NoError(t, err)
	}
	assert.Empty(t, s.spy.calls(), "all of them are in memory now")
}
