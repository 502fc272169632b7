package idempotenttest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
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

func TestMarkedTellsWhatAHandlerNoted(t *testing.T) {
	t.Parallel()
	timeout := errors.New("timeout")
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		idempotent.Mark(r.Context(), idempotent.Uncertain(timeout))
		idempotent.Mark(r.Context(), nil)
		idempotent.Mark(r.Context(), errors.ErrUnsupported)
		w.WriteHeader(http.StatusBadGateway)
	})
	ctx := idempotenttest.Context(t)
	require.Empty(t, idempotenttest.Marked(ctx))
	handler.ServeHTTP(httptest.NewRecorder(),
		httptest.NewRequestWithContext(ctx, http.MethodPost, "/charges", http.NoBody))
	all := idempotenttest.Marked(ctx)
	require.Len(t, all, 2)
	require.ErrorIs(t, all[0], timeout)
	assert.Equal(t, errors.ErrUnsupported, all[1])
	assert.Empty(t, idempotenttest.Marked(idempotenttest.Context(t)), "another context")
}

func TestMarkedNeedsAContextOfThisPackage(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { idempotenttest.Marked(context.Background()) })
}

func TestStepsOfAContextRunAndReturnWhatARecordWouldKeep(t *testing.T) {
	t.Parallel()
	type charge struct {
		ID     string
		hidden string
	}
	ctx := idempotenttest.Context(t)
	var key string
	got, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (charge, error) {
		key = idempotent.DerivedKey(ctx, "")
		return charge{ID: "ch-1", hidden: "no JSON"}, nil
	})
	require.NoError(t, err)
	assert.Equal(t, charge{ID: "ch-1"}, got)
	assert.Equal(t, idempotent.DerivedKey(ctx, "charge"), key)
}

func TestTheNameOfAStepCanBeUsedOnce(t *testing.T) {
	t.Parallel()
	errDown := errors.New("down")
	ctx := idempotenttest.Context(t)
	for _, want := range []error{errDown, idempotent.ErrStepRefused} {
		_, err := idempotent.Step(ctx, "fails", func(context.Context) (int, error) { return 0, errDown })
		require.ErrorIs(t, err, want)
	}
}
