package idempotenttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

// TestACommitOfAContextIsAWriteOfItsRecord: where somebody else has the record, nothing is
// committed.
func TestACommitOfAContextIsAWriteOfItsRecord(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	of := deliveryOf(ctx, "")
	held, found, err := of.Get(ctx, of.RecordKey)
	require.NoError(t, err)
	require.True(t, found)
	other := held
	other.Owner = "another"
	_, swapped, err := of.Swap(ctx, held, other)
	require.NoError(t, err)
	require.True(t, swapped)
	_, err = dynamo.Commit(ctx, 1)
	require.ErrorIs(t, err, execution.ErrLeaseLost)
	require.Empty(t, Commits(ctx))
}

// TestTheEndOfATestEndsItsDelivery: the record is completed, as that of a handler which has
// returned.
func TestTheEndOfATestEndsItsDelivery(t *testing.T) {
	t.Parallel()
	var of *delivery
	t.Run("inner", func(t *testing.T) { of = deliveryOf(Context(t), "") }) //nolint:paralleltest // its end is awaited
	held, found, err := of.Get(t.Context(), of.RecordKey)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, store.StatusCompleted, held.Status)
	require.True(t, held.Expiry.After(time.Now()))
}
