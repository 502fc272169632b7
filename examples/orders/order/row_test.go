package order_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

// office is DynamoDB Local with tables of records, of orders and of their messages, and what was called.
type office struct {
	t *testing.T
	*dynamodb.Client
	order.Tables
	records string
	store   *dynamo.Store
	calls   []string
	// transaction are the items of the last one.
	transaction []types.TransactWriteItem
}

func newOffice(t *testing.T) *office {
	t.Helper()
	endpoint := dynamolocal.Endpoint(t)
	o := &office{
		t: t, Client: dynamolocal.Client(endpoint), records: "order-test-" + rand.Text(),
		Tables: order.Tables{Orders: "order-test-" + rand.Text(), Outbox: "order-test-" + rand.Text()},
	}
	require.NoError(t, dynamo.CreateTable(t.Context(), o.Client, o.records))
	for range 2 { // the second time it is there
		require.NoError(t, order.CreateTable(t.Context(), o.Client, o.Orders))
	}
	require.NoError(t, outbox.CreateTable(t.Context(), o.Client, o.Outbox))
	o.store = dynamo.New(dynamolocal.Client(endpoint, o.observe), o.records)
	return o
}

// observe notes the calls of a client. They come one after the other: an order waits for each.
func (o *office) observe(opts *dynamodb.Options) {
	opts.APIOptions = append(opts.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("Calls", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			o.calls = append(o.calls, awsmiddleware.GetOperationName(ctx))
			if transaction, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
				o.transaction = transaction.TransactItems
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}

// newFunction is the wrapped handler on these tables.
func (o *office) newFunction(w *town, opts ...idempotent.Option) *function {
	o.t.Helper()
	w.tables = o.Tables
	return newFunction(o.t, w, o.store, opts...)
}

func (o *office) items(table string) []map[string]types.AttributeValue {
	o.t.Helper()
	out, err := o.Scan(o.t.Context(), &dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
	require.NoError(o.t, err)
	return out.Items
}

// rows are the orders.
func (o *office) rows() (rows []order.Row) {
	o.t.Helper()
	require.NoError(o.t, attributevalue.UnmarshalListOfMaps(o.items(o.Orders), &rows))
	return rows
}

// forget deletes all records, as when their retention is over.
func (o *office) forget() {
	o.t.Helper()
	for _, item := range o.items(o.records) {
		_, err := o.DeleteItem(o.t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(o.records), Key: map[string]types.AttributeValue{"id": item["id"]},
		})
		require.NoError(o.t, err)
	}
}

// rowOf is what the table has to hold of the body and its answer.
func rowOf(t *testing.T, answer events.APIGatewayV2HTTPResponse) order.Row {
	t.Helper()
	var ids map[string]string
	require.NoError(t, json.Unmarshal([]byte(answer.Body), &ids))
	return order.Row{
		OrderID: ids["order_id"], ReservationID: ids["reservation_id"], ChargeID: ids["charge_id"],
		SKU: "A-1", Quantity: 2, Amount: 1999, Currency: "usd", Email: "a@example.com",
	}
}

func TestAnOrderIsARowThatIsWrittenWithItsAnswer(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	first := f.answers(201, post("k", body))
	require.Equal(t, []string{"PutItem", "UpdateItem", "UpdateItem", "TransactWriteItems"}, o.calls)
	require.Equal(t, []order.Row{rowOf(t, first)}, o.rows())
	require.Len(t, o.transaction, 3)
	require.Equal(t, o.records, *o.transaction[0].Update.TableName, "the answer")
	require.Equal(t, o.Orders, *o.transaction[1].Put.TableName)
	require.Equal(t, o.Outbox, *o.transaction[2].Put.TableName, "the message")

	item := o.items(o.Orders)[0]
	require.Len(t, item, 8)
	for _, name := range []string{"order_id", "reservation_id", "charge_id", "sku", "email", "currency"} {
		require.IsType(t, &types.AttributeValueMemberS{}, item[name], name)
	}
	for name, value := range map[string]string{"quantity": "2", "amount": "1999"} {
		require.Equal(t, &types.AttributeValueMemberN{Value: value}, item[name], name)
	}

	o.calls = nil
	again := f.answers(201, post("k", body))
	require.True(t, replayed(again))
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, []string{"PutItem"}, o.calls, "a replay costs what it costs without a row")
	require.Len(t, o.rows(), 1)
	require.Equal(t, [4]int{1, 1, 0, 0}, w.done())
}

func TestWhatIsNoOrderHasNoRow(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	f.answers(402, post("declined", declined))
	require.True(t, replayed(f.answers(402, post("declined", declined))))
	f.answers(400, post("invalid", "{}"))
	w.fail("POST /v1/charges", status(500, ""), false)
	f.answers(502, post("k", body))
	require.NotContains(t, o.calls, "TransactWriteItems")
	require.Empty(t, o.rows())

	w.heal()
	require.Equal(t, []order.Row{rowOf(t, f.answers(201, post("k", body)))}, o.rows())
}

func TestEachRequestIsARow(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	rows := []order.Row{rowOf(t, f.answers(201, post("k", body))), rowOf(t, f.answers(201, post("other", body)))}
	require.ElementsMatch(t, rows, o.rows())
}

// The retention is over, and the client sends the request again. The services remember its keys, so it is the same order.
func TestTheSameOrderAfterItsRetentionHasTheSameAnswer(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	first := f.answers(201, post("k", body))
	o.forget()
	second := f.answers(201, post("k", body))
	require.False(t, replayed(second))
	require.Equal(t, first.Body, second.Body)
	require.Equal(t, []order.Row{rowOf(t, first)}, o.rows())
	require.Equal(t, [4]int{1, 1, 0, 0}, w.done())
	require.True(t, replayed(f.answers(201, post("k", body))), "it is stored once more")
}

// The services have forgotten the keys, or the row is somebody else's: then there are two orders by one id.
func TestAnotherOrderByTheSameIDIsAStoredConflict(t *testing.T) {
	// Not parallel: it looks at the default logger.
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })

	for name, change := range map[string]func(o *office, w *town) *town{
		"a service has forgotten": func(o *office, _ *town) *town { return newTown(o.t) },
		"it is no order": func(o *office, w *town) *town {
			item := o.items(o.Orders)[0]
			item["quantity"] = &types.AttributeValueMemberS{Value: "two"}
			_, err := o.PutItem(o.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(o.Orders), Item: item})
			require.NoError(o.t, err)
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			o, w := newOffice(t), newTown(t)
			first := o.newFunction(w).answers(201, post("client-key", body))
			o.forget()
			f := o.newFunction(change(o, w))
			rows := o.items(o.Orders)

			conflict := f.answers(409, post("client-key", body))
			require.Contains(t, detail(t, conflict), "another order")
			require.Equal(t, idempotent.SettledCompleted, f.last.Settlement)
			again := f.answers(409, post("client-key", body))
			require.True(t, replayed(again), "a retry would find the same, and have more effects")
			require.Equal(t, conflict.Body, again.Body)
			require.Equal(t, rows, o.items(o.Orders), "the row is as it was")
			require.Contains(t, log.String(), rowOf(t, first).OrderID, "somebody has to look")
			for _, secret := range []string{"client-key", "tok_visa", "a@example.com"} {
				require.NotContains(t, log.String(), secret)
			}
		})
	}
}

// Without protection each request is an order with a row: the rows are written in a transaction of their own.
func TestWithoutProtectionEachRequestIsARow(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w, idempotent.WithDisabled(true))
	first, second := f.answers(201, post("k", body)), f.answers(201, post("k", body))
	require.ElementsMatch(t, []order.Row{rowOf(t, first), rowOf(t, second)}, o.rows())
	require.Equal(t, []string{"TransactWriteItems", "TransactWriteItems"}, o.calls)
	require.Empty(t, o.items(o.records))
}

// A table that is not there is an outage of the orders, not a lost order: the client may retry, and goes on behind the last step. No half of
// the order is written meanwhile.
func TestWithoutOneOfItsTablesAnOrderIsNotLost(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(order.Tables) string{
		"the orders": func(t order.Tables) string { return t.Orders },
		"the outbox": func(t order.Tables) string { return t.Outbox },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, w := newOffice(t), newTown(t)
			table := lost(o.Tables)
			_, err := o.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
			require.NoError(t, err)
			f := o.newFunction(w)
			require.Contains(t, detail(t, f.answers(503, post("k", body))), "same idempotency key")
			require.Equal(t, idempotent.SettledReleased, f.last.Settlement)

			require.NoError(t, order.CreateTable(t.Context(), o.Client, o.Orders))
			require.NoError(t, outbox.CreateTable(t.Context(), o.Client, o.Outbox))
			require.Empty(t, o.rows())
			require.Empty(t, o.items(o.Outbox))
			second := f.answers(201, post("k", body))
			require.Equal(t, []order.Row{rowOf(t, second)}, o.rows())
			require.Equal(t, []letter{letterOf(t, second)}, o.letters())
			for _, what := range []string{"STOCK POST", "PAYMENTS POST"} {
				require.Len(t, w.about(what), 1, "%s is not asked again", what)
			}
		})
	}
}

func TestATableThatCannotBeMadeIsReported(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	require.ErrorContains(t, order.CreateTable(t.Context(), o.Client, "a b"), `create table "a b"`)
}
