package payments_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/routers/payments"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

// TestASilentNetworkIsMarked tests one handler by itself: no event, no adapter, no store.
func TestASilentNetworkIsMarked(t *testing.T) {
	t.Parallel()
	router := payments.ServeMux(payments.New(&payments.Bank{}, secret))
	ctx := idempotenttest.Context(t)
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/transfers", strings.NewReader(`{"amount":1999,"account":"acc_silent"}`))
	answer := httptest.NewRecorder()
	router.ServeHTTP(answer, req)

	require.Equal(t, http.StatusGatewayTimeout, answer.Code)
	marked := idempotenttest.Marked(ctx)
	require.Len(t, marked, 1)
	require.ErrorIs(t, marked[0], payments.ErrSilent)
}
