package localstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

func TestMemoryIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "memory"} {
		s, err := localstore.Open(t.Context(), localstore.Settings{Store: name, Endpoint: "http://ignored", Table: "ignored"})
		require.NoError(t, err)
		require.IsType(t, &memory.Store{}, s.Store)
		require.Empty(t, s.Endpoint)
		require.NoError(t, s.Close())
	}
}

func TestATableIsCreatedAndSharedByWhoeverAttaches(t *testing.T) {
	t.Parallel()
	endpoint := dynamolocal.Endpoint(t)
	for range 2 { // the second time it is there
		s, err := localstore.Open(t.Context(), localstore.Settings{Store: "dynamodb", Endpoint: endpoint, Table: "localstore-test"})
		require.NoError(t, err)
		require.Equal(t, endpoint, s.Endpoint)
		_, err = s.Delete(t.Context(), store.Record{Key: "k", Status: store.StatusInProgress, Owner: "me"})
		require.NoError(t, err)
		_, found, err := localstore.Attach(s.Endpoint, s.Table).Get(t.Context(), "k")
		require.NoError(t, err)
		require.False(t, found)
		require.NoError(t, s.Close())
	}
}

func TestAnUnknownStoreIsRefused(t *testing.T) {
	t.Parallel()
	_, err := localstore.Open(t.Context(), localstore.Settings{Store: "redis"})
	require.ErrorContains(t, err, `STORE="redis"`)
}

func TestSettingsComeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	values := map[string]string{"STORE": "dynamodb", "AWS_ENDPOINT_URL_DYNAMODB": "http://e", "IDEMPOTENCY_TABLE": "t"}
	got := localstore.FromEnvironment(func(name string) string { return values[name] })
	require.Equal(t, localstore.Settings{Store: "dynamodb", Endpoint: "http://e", Table: "t"}, got)
}
