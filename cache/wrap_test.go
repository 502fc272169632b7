package cache_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// sandbox is a process with a handler that counts its executions, and a cache before its store.
type sandbox struct {
	*fixture

	handler  *idempotent.Handler[order, string]
	executed atomic.Int64
}

type order struct {
	ID     string
	Amount int
}

// newSandbox returns one whose handler answers with the receipt.
func newSandbox(t *testing.T, inner store.Store, receipt string) *sandbox {
	t.Helper()
	s := &sandbox{fixture: newFixture(t, inner, 1<<20)}
	s.handler = idempotent.Wrap(func(context.Context, order) (string, error) {
		s.executed.Add(1)
		return receipt, nil
	}, s.cache,
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil }),
	)
	return s
}

// deliver delivers an order as Lambda does, and returns the calls of the store that it took.
func (s *sandbox) deliver(id string, amount int) (receipt string, calls []storetest.Op, err error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	s.spy.calls()
	receipt, err = s.handler.Handle(ctx, order{ID: id, Amount: amount})
	return receipt, s.spy.calls(), err
}

// TestARetryIsAnsweredWithoutTheStore once a claim of it was refused, also while the store is down,
// and wherever that keeps the result.
func TestARetryIsAnsweredWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, newParted(), large)
	for _, want := range [][]storetest.Op{{claim, swap}, {claim, readResult}, {}, {}} {
		s.spy.down.Store(len(want) == 0)
		receipt, calls, err := s.deliver("o-1", 5)
		require.NoError(t, err)
		require.Equal(t, large, receipt)
		require.Equal(t, want, append([]storetest.Op{}, calls...))
	}
	_, calls, err := s.deliver("o-1", 6)
	require.ErrorIs(t, err, idempotent.ErrMismatch)
	require.Empty(t, calls)
	_, _, err = s.deliver("o-2", 5)
	require.ErrorIs(t, err, idempotent.ErrStoreUnavailable, "an outage is one for what is not remembered")
	require.EqualValues(t, 1, s.executed.Load())
}

func TestManyDeliveriesAtTheSameTimeGetTheSameResult(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, newParted(), large)
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
				assert.Equal(t, large, receipt)
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
