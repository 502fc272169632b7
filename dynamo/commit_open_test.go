package dynamo_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
)

// TestAConditionBehindALostRequestIsFenced: the client repeats a request that got lost, and the
// repetition is refused. The first one may still be on its way, and the condition may hold when it
// arrives: before the handler goes on, the record is moved away from it.
func TestAConditionBehindALostRequestIsFenced(t *testing.T) {
	t.Parallel()
	network := recorder()
	pass := network.answer
	sent := 0
	var late func() (*http.Response, error)
	network.answer = func(n int, r *http.Request, q request) (*http.Response, error) {
		if q.Call != "TransactWriteItems" {
			return pass(n, r, q)
		}
		if sent++; sent == 1 {
			late = func() (*http.Response, error) { return pass(n, r.WithContext(context.Background()), q) }
			return nil, io.ErrUnexpectedEOF
		}
		return pass(n, r, q)
	}
	s, client, _ := local(t, func(o *dynamodb.Options) { o.HTTPClient = network })
	orders := ordersTable(t, client)
	putItem(t, client, orders, item{"order_id": S("o-1")})
	h := idempotent.Wrap(func(ctx context.Context, id string) (string, error) {
		_, err := dynamo.Commit(ctx, "created",
			dynamo.Put(orders, order{ID: id, Status: "new"}, dynamo.IfAbsent("order_id")))
		var refused *dynamo.ConditionError
		require.ErrorAs(t, err, &refused)
		_, err = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &orders, Key: item{"order_id": S(id)}})
		require.NoError(t, err)
		answer, err := late()
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return "taken", nil
	}, s, idempotent.WithOperation("order"), unhurried(),
		idempotent.WithKey(func(id string) (string, error) { return id, nil }))
	ctx, cancel := context.WithTimeout(t.Context(), 29*time.Second)
	defer cancel()
	for range 2 {
		out, err := h.Handle(ctx, "o-1")
		require.NoError(t, err)
		require.Equal(t, "taken", out)
	}
	require.Empty(t, getOrder(t, client, orders, "o-1"), "nothing of the refused commit is ever applied")
}
