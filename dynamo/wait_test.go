package dynamo_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
)

// TestWaitersOnDynamoDBGetTheOneResult: many deliveries of a key, each through a handler and a
// store of its own, wait for the one that executes. The result is large enough to be in parts.
func TestWaitersOnDynamoDBGetTheOneResult(t *testing.T) {
	t.Parallel()
	_, client, table := local(t)
	var executed atomic.Int64
	result := string(bytes.Repeat([]byte("paid "), 4000))
	deliver := func() (string, error) {
		handler := idempotent.Wrap(func(context.Context, string) (string, error) {
			executed.Add(1)
			time.Sleep(700 * time.Millisecond) // most of the others have asked by then
			return result, nil
		}, dynamo.New(client, table), idempotent.WithOperation("pay"), idempotent.WithWait(5*time.Minute),
			unhurried(),
			idempotent.WithKey(func(id string) (string, error) { return id, nil }))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		return handler.Handle(ctx, "order-1")
	}
	type answer struct {
		out string
		err error
	}
	answers := make(chan answer)
	const clients = 20
	for range clients {
		go func() {
			out, err := deliver()
			answers <- answer{out, err}
		}()
	}
	for range clients {
		a := <-answers
		require.NoError(t, a.err)
		assert.Equal(t, result, a.out)
	}
	assert.Equal(t, int64(1), executed.Load())
}
