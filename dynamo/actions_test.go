package dynamo_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestActionsAreTheCallsOfAClient(t *testing.T) {
	t.Parallel()
	client := reflect.TypeFor[dynamo.Client]()
	calls := make([]string, client.NumMethod())
	for i := range calls {
		calls[i] = "dynamodb:" + client.Method(i).Name
	}
	require.Equal(t, calls, dynamo.Actions(), "reflection sorts by name")
}

// onlyActions can do what a function may, and cannot list.
type onlyActions struct{ dynamo.Client }

// TestStoreWithTheActionsAlone runs the groups of the conformance suite that make every call which
// is an action, with a client that has no other.
func TestStoreWithTheActionsAlone(t *testing.T) {
	t.Parallel()
	_, _, table := local(t)
	var mu sync.Mutex
	called := map[string]bool{}
	client := dynamolocal.Client(dynamolocal.Endpoint(t), dynamolocal.Unhurried, between(func(
		ctx context.Context, _ any, send func() (any, error),
	) (any, error) {
		mu.Lock()
		called["dynamodb:"+awsmiddleware.GetOperationName(ctx)] = true
		mu.Unlock()
		return send()
	}))
	records := dynamo.New(onlyActions{client}, table)
	storetest.Run(t, storetest.Features{}, func(tb testing.TB) store.Store {
		only(tb, "Claim", "Swap", "Delete", "Parts", "Steps")
		return records
	})
	require.Equal(t, dynamo.Actions(), slices.Sorted(maps.Keys(called)))
}
