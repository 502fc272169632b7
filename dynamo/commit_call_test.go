package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// TestAHandlerCommits on DynamoDB Local: its row and its answer are there once, and the condition
// of a row is an answer like others.
func TestAHandlerCommits(t *testing.T) {
	t.Parallel()
	s, client, _ := local(t)
	orders := ordersTable(t, client)
	var events []report.Delivery
	executed := 0
	h := idempotent.Wrap(func(ctx context.Context, id string) (string, error) {
		executed++
		out, err := dynamo.Commit(ctx, "created "+id,
			dynamo.Put(orders, order{ID: id}, dynamo.IfAbsent("order_id"), dynamo.ReturnOld()))
		if taken, ok := errors.AsType[*dynamo.ConditionError](err); ok {
			require.Equal(t, S(id), taken.Refused[0].Old["order_id"])
			return "taken", nil
		}
		return out, err
	}, s, idempotent.WithOperation("order"), unhurried(),
		idempotent.WithKey(func(id string) (string, error) { return id, nil }),
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { events = append(events, e) }))
	deliver := func(id string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 29*time.Second)
		defer cancel()
		out, err := h.Handle(ctx, id)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, "created o-1", deliver("o-1"))
	require.NotEmpty(t, getOrder(t, client, orders, "o-1"))
	require.Equal(t, "created o-1", deliver("o-1"))
	require.Equal(t, 1, executed)

	putItem(t, client, orders, item{"order_id": S("o-2")})
	require.Equal(t, "taken", deliver("o-2"))
	require.Equal(t, "taken", deliver("o-2"))
	require.Equal(t, 2, executed)
	for _, e := range events {
		require.NoError(t, e.Err)
		require.NoError(t, e.StoreErr)
	}
}

func TestACommitOutsideOfADelivery(t *testing.T) {
	t.Parallel()
	out, err := dynamo.Commit(t.Context(), "out", dynamo.Put("orders", order{ID: "o-1"}))
	require.Empty(t, out)
	require.ErrorIs(t, err, idempotent.ErrCommitRefused)
	require.NotErrorIs(t, err, store.ErrNoCommit)
	require.ErrorAs(t, err, new(*idempotent.Error))
	require.EqualError(t, err,
		"idempotent: the commit was not begun: its context belongs to no delivery: pass on the one that the handler "+
			"was given")
}
