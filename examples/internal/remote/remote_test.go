package remote_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/remote"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	// A demonstration has small results; large ones would only be slow.
	storetest.Run(t, storetest.Features{MaxResult: 64 << 10}, func(tb testing.TB) store.Store {
		server := httptest.NewServer(remote.Serve(memory.New()))
		tb.Cleanup(server.Close)
		return remote.NewStore(server.URL)
	})
}

func TestAWriteWithoutAnAnswerMayHaveBeenApplied(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		remote.Serve(inner).ServeHTTP(httptest.NewRecorder(), req)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)

	_, claimed, err := remote.NewStore(server.URL).Claim(t.Context(), store.Record{Key: "k", Owner: "me"}, time.Now())

	require.False(t, claimed)
	var failure *store.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, store.FailureUnavailable, failure.Kind)
	require.False(t, failure.NotApplied)
	_, found, err := inner.Get(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, found, "it was applied indeed")
}

func TestAServerThatFailsIsUnavailable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "null", http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	_, _, err := remote.NewStore(server.URL).Get(t.Context(), "k")
	var failure *store.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, store.FailureUnavailable, failure.Kind)
}
