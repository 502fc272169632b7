package order_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

// These run without DynamoDB: what the items mean to the tables is for the tests with tables.
var tables = order.Tables{Orders: "orders", Outbox: "outbox"}

func TestAnOrderCommitsItsRowAndItsMessage(t *testing.T) {
	t.Parallel()
	w, ctx := newTown(t), idempotenttest.Context(t)
	out, err := order.Handler(w.services(), tables)(ctx, post("k", body))
	require.NoError(t, err)
	require.Equal(t, 201, out.StatusCode)
	commits := idempotenttest.Commits(ctx)
	require.Len(t, commits, 1)
	require.Equal(t, out, commits[0].Answer)
	require.Equal(t, 2, commits[0].Writes.Len())
}

func TestWhatIsNoOrderCommitsNothing(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.fail("POST /v1/reservations", status(500, ""), false)
	for _, c := range []struct {
		what, body string
		status     int
	}{{"a stock that fails", body, 502}, {"a body that is none", "{}", 400}} {
		ctx := idempotenttest.Context(t)
		out, err := order.Handler(w.services(), tables)(ctx, post("k", c.body))
		require.NoError(t, err, c.what)
		require.Equal(t, c.status, out.StatusCode, c.what)
		require.Empty(t, idempotenttest.Commits(ctx), c.what)
	}
	w.heal()
	ctx := idempotenttest.Context(t)
	out, err := order.Handler(w.services(), tables)(ctx, post("k", declined))
	require.NoError(t, err)
	require.Equal(t, 402, out.StatusCode)
	require.Empty(t, idempotenttest.Commits(ctx))
}

// Nothing is answered, and nothing is known to have left, when a commit has failed.
func TestACommitThatFailsIsTheErrorOfTheOrder(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{idempotent.ErrLeaseLost, errors.New("out of reach")} {
		w, ctx := newTown(t), idempotenttest.Context(t, idempotenttest.WithCommitErrors(failure))
		out, err := order.Handler(w.services(), tables)(ctx, post("k", body))
		require.ErrorIs(t, err, failure)
		require.Zero(t, out)
		require.Empty(t, idempotenttest.Commits(ctx))
		require.Equal(t, 1, w.Done(counting.Charge))
	}
}

// The row that is there says that the message has left with it.
func TestAnOrderThatIsThereCommitsNoSecondMessage(t *testing.T) {
	t.Parallel()
	w, handler := newTown(t), order.Handler
	first, err := handler(w.services(), tables)(idempotenttest.Context(t), post("k", body))
	require.NoError(t, err)
	ctx := idempotenttest.Context(t, idempotenttest.WithCommitErrors(thereIs(t, rowOf(t, first))))
	again, err := handler(w.services(), tables)(ctx, post("k", body))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Empty(t, idempotenttest.Commits(ctx))

	another := rowOf(t, first)
	another.ChargeID = "ch_another"
	ctx = idempotenttest.Context(t, idempotenttest.WithCommitErrors(thereIs(t, another)))
	var conflict events.APIGatewayV2HTTPResponse
	conflict, err = handler(w.services(), tables)(ctx, post("k", body))
	require.ErrorContains(t, err, "another order")
	require.Equal(t, 409, conflict.StatusCode)
	require.Empty(t, idempotenttest.Commits(ctx))
}

// thereIs is how a commit ends when the table has this row.
func thereIs(t *testing.T, row order.Row) error {
	t.Helper()
	old, err := attributevalue.MarshalMap(row)
	require.NoError(t, err)
	return &dynamo.ConditionError{Refused: []dynamo.RefusedItem{{Index: 0, Table: tables.Orders, Old: old}}}
}
