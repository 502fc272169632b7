package idempotenttest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

// pay is code of a user that is called by a handler.
func pay(ctx context.Context) string { return idempotent.DerivedKey(ctx, "charge") }

func TestContextBelongsToAnExecution(t *testing.T) {
	t.Parallel()
	ctx := idempotenttest.Context(t)
	x, ok := idempotent.FromContext(ctx)
	require.True(t, ok)
	assert.Equal(t, 1, x.Attempt)
	assert.False(t, x.Recovered)
	assert.Equal(t, pay(ctx), pay(idempotenttest.Context(t)), "every attempt of one request has one key")
	t.Run("another request", func(t *testing.T) {
		t.Parallel()
		assert.NotEqual(t, pay(ctx), pay(idempotenttest.Context(t)))
	})
}

func TestContextEndsWithItsTest(t *testing.T) {
	t.Parallel()
	ended := make(chan (<-chan struct{}), 1)
	t.Run("inner", func(t *testing.T) { //nolint:paralleltest // its end is awaited
		ctx := idempotenttest.Context(t)
		require.NoError(t, ctx.Err())
		ended <- ctx.Done()
	})
	<-<-ended
}

// TestContextIsThatOfARealDelivery: it has a deadline, as Lambda gives one, and its end is that of
// a handler.
func TestContextIsThatOfARealDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := idempotenttest.Context(t)
		deadline, limited := ctx.Deadline()
		require.True(t, limited)
		assert.Less(t, time.Until(deadline), 15*time.Minute)
		x, _ := idempotent.FromContext(ctx)
		assert.Equal(t, time.Now().UTC(), x.CreatedAt.UTC())
		synctest.Wait() // and no goroutine beside it: the bubble would not end
		time.Sleep(time.Until(deadline) + time.Second)
		_, err := idempotent.Step(ctx, "late", func(context.Context) (int, error) { return 1, nil })
		require.ErrorIs(t, err, idempotent.ErrStepRefused)
		require.ErrorIs(t, commit(ctx, 1), idempotent.ErrCommitRefused)
	})
}
