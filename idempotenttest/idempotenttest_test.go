package idempotenttest_test

import (
	"context"
	"testing"

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
