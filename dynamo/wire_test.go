package dynamo_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

func TestCallsOfALargeResultAndItsReplay(t *testing.T) {
	t.Parallel()
	tr := recorder()
	s, _, _ := local(t, func(o *dynamodb.Options) { o.HTTPClient = tr })
	first := claims(t, s, record("charge#key"))
	result := []byte(`"` + strings.Repeat("x", 6<<20) + `"`)
	mustSwap(t, s, first, completion(first, result))
	held, _, err := s.Claim(t.Context(), first, claimTime)
	require.NoError(t, err)
	require.Equal(t, result, resultOf(t, s, held))
	require.Equal(t, []string{"PutItem", "BatchWriteItem", "UpdateItem", "PutItem", "BatchGetItem"}, tr.calls())
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
		replies []reply
		held    store.Record
	}{
		"held": {[]reply{refused, found}, want},
		"gone": {[]reply{refused, done}, store.Record{}},
		"held, behind an attempt that may have written it": {[]reply{lost, refused, found}, want},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := len(c.replies) - 1
			requireLook := func(call string, tr *transport, held store.Record, done bool, err error) {
				require.NoError(t, err)
				require.False(t, done)
				require.Equal(t, c.held, held)
				require.Equal(t, append(slices.Repeat([]string{call}, looks), "GetItem"), tr.calls())
				require.JSONEq(t, `{"TableName":"idempotency","Key":{"id":{"S":"k"}},"ConsistentRead":true}`,
					string(tr.requests[looks].Body))
			}
			s, tr := scripted(c.replies...)
			held, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
			requireLook("PutItem", tr, held, claimed, err)
			s, tr = scripted(c.replies...)
			held, swapped, err := s.Swap(t.Context(), record("k"), record("k"))
			requireLook("UpdateItem", tr, held, swapped, err)
		})
	}
	s, tr := scripted(throttled, refused)
	deleted, err := s.Delete(t.Context(), record("k"))
	require.NoError(t, err, "every attempt was answered")
	require.False(t, deleted)
	require.Equal(t, []string{"DeleteItem", "DeleteItem"}, tr.calls())
}
