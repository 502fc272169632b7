package idempotenttest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

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
