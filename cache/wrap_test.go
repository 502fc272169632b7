package cache_test

import (
	"context"
	"errors"
	"slices"
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
	"github.com/go-idempotent/idempotent/storetest"
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
	// meanwhile, unless nil, is what happens while the handler runs.
	meanwhile func(ctx context.Context)
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

func (s *sandbox) charge(ctx context.Context, _ order) (string, error) {
	s.executed.Add(1)
	if s.meanwhile != nil {
		s.meanwhile(ctx)
	}
	return s.receipt, s.err
}

// deliver delivers an order as Lambda does, and returns the calls of the store that it took.
func (s *sandbox) deliver(amount int) (receipt string, calls []storetest.Op, err error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	s.spy.calls()
	receipt, err = s.handler.Handle(ctx, order{ID: "o-1", Amount: amount})
	return receipt, s.spy.calls(), err
}

// answers delivers an order of five, and sees how it is answered and which calls of the store that
// takes.
func (s *sandbox) answers(want string, calls ...storetest.Op) {
	s.t.Helper()
	receipt, made, err := s.deliver(5)
	require.NoError(s.t, err)
	require.Equal(s.t, want, receipt)
	require.Equal(s.t, slices.Concat(calls), slices.Concat(made))
}

func TestARetryIsAnsweredWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, memory.New())
	s.answers("ch_1", claim, swap)
	s.answers("ch_1", claim) // it is refused, and remembered from now on

	s.spy.down.Store(true) // an outage changes nothing for it
	s.receipt = "ch_2"
	for range 3 {
		s.answers("ch_1")
	}
	_, calls, err := s.deliver(6)
	require.ErrorIs(t, err, idempotent.ErrMismatch)
	require.Empty(t, calls)
	require.EqualValues(t, 1, s.executed.Load())
}

func TestAnOutageIsAnOutageForWhatIsNotRemembered(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	first, second := newSandbox(t, inner), newSandbox(t, inner)
	first.answers("ch_1", claim, swap)

	second.outage(func() error {
		_, _, err := second.deliver(5)
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		return err
	})
	second.answers("ch_1", claim)
	second.spy.down.Store(true)
	second.answers("ch_1")
	require.Zero(t, second.executed.Load())
}

func TestAResultInPartsIsReplayedWithoutTheStore(t *testing.T) {
	t.Parallel()
	inner := newParted()
	first, second := newSandbox(t, inner), newSandbox(t, inner)
	first.receipt = strings.Repeat("x", 3*inline)
	first.answers(first.receipt, claim, swap)
	second.answers(first.receipt, claim, readResult)
	second.answers(first.receipt)
	second.answers(first.receipt)
}

func TestFromTheExpiryOnTheHandlerRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		s, other := newSandbox(t, inner), newSandbox(t, inner)
		s.answers("ch_1", claim, swap)
		s.answers("ch_1", claim)
		time.Sleep(idempotent.DefaultRetention - idempotent.DefaultMargin - time.Millisecond)
		s.answers("ch_1")

		time.Sleep(idempotent.DefaultMargin + time.Millisecond)
		other.receipt = "ch_2"
		other.answers("ch_2", claim, swap)
		s.answers("ch_2", claim)
	})
}

func TestATerminalErrorIsReplayedWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, memory.New())
	s.err = idempotent.Terminal(errors.New("card declined"))
	_, _, err := s.deliver(5)
	require.EqualError(t, err, "card declined")
	for _, want := range [][]storetest.Op{{claim}, {}} {
		_, calls, err := s.deliver(5)
		require.ErrorAs(t, err, new(*idempotent.ReplayedError))
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
		require.Equal(t, []storetest.Op{claim, remove}, calls)
		require.EqualValues(t, n+1, s.executed.Load())
	}
}

func TestADeliveryThatWaitsLeavesTheAnswerToTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		running, waiting := newSandbox(t, inner), newSandbox(t, inner, idempotent.WithWait(5*time.Second))
		running.meanwhile = func(context.Context) { time.Sleep(time.Second) }
		go running.answers("ch_1", claim, swap)
		synctest.Wait()
		receipt, calls, err := waiting.deliver(5)
		require.NoError(t, err)
		require.Equal(t, "ch_1", receipt)
		require.Equal(t, get, calls[len(calls)-1])
		waiting.answers("ch_1", claim)
		waiting.answers("ch_1")
		require.Zero(t, waiting.executed.Load())
	})
}

// TestALostLeaseIsSettledByWhatTheOtherCompleted: the other answer is remembered, one's own is not.
func TestALostLeaseIsSettledByWhatTheOtherCompleted(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	s, other := newSandbox(t, inner), newSandbox(t, inner)
	other.receipt = "ch_other"
	s.meanwhile = func(ctx context.Context) {
		x, _ := idempotent.FromContext(ctx)
		held, _, err := inner.Get(ctx, x.RecordKey)
		require.NoError(t, err)
		_, err = inner.Delete(ctx, held) // as the table's time to live would, long after
		require.NoError(t, err)
		other.answers("ch_other", claim, swap)
	}
	receipt, _, err := s.deliver(5)
	require.NoError(t, err)
	require.Equal(t, "ch_other", receipt)
	s.answers("ch_other", claim)
	s.answers("ch_other")
}

// TestWhatIsDeletedByHandIsReplayedWhereItIsRemembered is the exception that the package names.
func TestWhatIsDeletedByHandIsReplayedWhereItIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		s, other := newSandbox(t, inner), newSandbox(t, inner)
		s.answers("ch_1", claim, swap)
		held, _, err := s.cache.Claim(t.Context(), store.Record{Key: s.recordKey()}, time.Now())
		require.NoError(t, err)
		deleted, err := inner.Delete(t.Context(), held)
		require.NoError(t, err)
		require.True(t, deleted)

		s.answers("ch_1")
		other.receipt = "ch_2"
		other.answers("ch_2", claim, swap)

		time.Sleep(idempotent.DefaultRetention - idempotent.DefaultMargin)
		s.answers("ch_2", claim) // no longer than to the expiry
	})
}

// recordKey is the record key of an order, which a mismatch tells.
func (s *sandbox) recordKey() string {
	s.t.Helper()
	_, _, err := s.deliver(-1)
	require.ErrorIs(s.t, err, idempotent.ErrMismatch)
	mismatch, _ := errors.AsType[*idempotent.Error](err)
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
