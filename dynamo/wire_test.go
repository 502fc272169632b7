package dynamo_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// recorded returns a store on DynamoDB Local whose requests are kept.
func recorded(t *testing.T) (*dynamo.Store, *transport) {
	t.Helper()
	tr := recorder()
	s, _, _ := local(t, func(o *dynamodb.Options) { o.HTTPClient = tr })
	tr.reset()
	return s, tr
}

func TestCallsOfALargeResultAndItsReplay(t *testing.T) {
	t.Parallel()
	s, tr := recorded(t)
	first := claims(t, s, record("charge#key"))
	result := []byte(`"` + strings.Repeat("x", 6<<20) + `"`)
	mustSwap(t, s, first, completion(first, result))
	held, _, err := s.Claim(t.Context(), first, claimTime)
	require.NoError(t, err)
	require.Equal(t, result, resultOf(t, s, held))
	require.Equal(t, []string{"PutItem", "BatchWriteItem", "UpdateItem", "PutItem", "BatchGetItem"}, tr.calls())
}

// TestWarmUp: what docs/cost.md has a function do while it starts finds nothing, and is no error.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	s, tr := recorded(t)
	for _, key := range []string{"warm-up", "payments-charge#warm-up"} {
		_, found, err := s.Get(t.Context(), key)
		require.NoError(t, err)
		require.False(t, found)
	}
	require.Equal(t, []string{"GetItem", "GetItem"}, tr.calls())
}

// TestServerThatSendsNoOldItem reads the record that refused, or finds it gone.
func TestServerThatSendsNoOldItem(t *testing.T) {
	t.Parallel()
	found := reply{status: http.StatusOK, body: `{"Item":{"id":{"S":"k"},"status":{"S":"COMPLETED"},
		"expiration":{"N":"1800086400"},"data":{"S":"1"}}}`}
	want := store.Record{
		Key: "k", Status: store.StatusCompleted, Expiry: time.Unix(1_800_086_400, 0).UTC(), Result: []byte("1"),
	}
	for name, c := range map[string]struct {
		look reply
		held store.Record
	}{
		"held": {found, want},
		"gone": {done, store.Record{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, tr := scripted(refused, c.look)
			held, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
			require.NoError(t, err)
			require.False(t, claimed)
			require.Equal(t, c.held, held)
			require.Equal(t, []string{"PutItem", "GetItem"}, tr.calls())
			require.JSONEq(t, `{"TableName":"idempotency","Key":{"id":{"S":"k"}},"ConsistentRead":true}`,
				string(tr.requests[1].Body))

			s, tr = scripted(refused, c.look)
			held, swapped, err := s.Swap(t.Context(), record("k"), record("k"))
			require.NoError(t, err)
			require.False(t, swapped)
			require.Equal(t, c.held, held)
			require.Equal(t, []string{"UpdateItem", "GetItem"}, tr.calls())
		})
	}
	s, tr := scripted(refused)
	deleted, err := s.Delete(t.Context(), record("k"))
	require.NoError(t, err)
	require.False(t, deleted)
	require.Equal(t, []string{"DeleteItem"}, tr.calls())
}
