package dynamo_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/report"
)

// TestTheHandlerThatAnswersARefusedCondition is what the page about commits says of it: the 409 has
// the order that is there, is stored, and replayed.
func TestTheHandlerThatAnswersARefusedCondition(t *testing.T) {
	s, client, _ := local(t)
	orders := ordersTable(t, client)
	t.Setenv("ORDERS_TABLE", orders)
	var event report.Delivery
	h := idempotent.Wrap(placeOrderOrShowTheOther, s, idempotent.WithOperation("orders"), unhurried(),
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { event = e }))
	send := func(key, body string) events.APIGatewayV2HTTPResponse {
		req := events.APIGatewayV2HTTPRequest{RouteKey: "POST /orders", RawPath: "/orders", Body: body}
		req.RequestContext.HTTP.Method = http.MethodPost
		req.Headers = map[string]string{"idempotency-key": key}
		out, err := h.Handle(t.Context(), req)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, 201, send("k-1", `{"order_id":"o-1","sku":"A-1"}`).StatusCode)
	for _, outcome := range []report.Outcome{report.Executed, report.Replayed} {
		out := send("k-2", `{"order_id":"o-1","sku":"B-2"}`)
		require.Equal(t, 409, out.StatusCode)
		require.JSONEq(t, `{"order_id":"o-1","sku":"A-1"}`, out.Body)
		require.Equal(t, outcome, event.Outcome)
		require.NoError(t, event.StoreErr)
	}
	require.Equal(t, S("A-1"), getOrder(t, client, orders, "o-1")["sku"])
}

// tablesOfThePage are those that the examples name, with their keys.
var tablesOfThePage = map[string]string{
	"orders": "order_id", "stock": "sku", "carts": "customer", "customers": "customer", "counters": "name",
}

// apartFromOthers adds a suffix to the tables of the page in every transaction. Other tests and
// demos on the same DynamoDB Local have tables of these names, too.
func apartFromOthers(suffix string) func(*dynamodb.Options) {
	rename := func(table *string) {
		if _, ofThePage := tablesOfThePage[*table]; ofThePage {
			*table += suffix
		}
	}
	return between(func(_ context.Context, in any, send func() (any, error)) (any, error) {
		if transaction, ok := in.(*dynamodb.TransactWriteItemsInput); ok {
			for _, write := range transaction.TransactItems {
				switch {
				case write.Put != nil:
					rename(write.Put.TableName)
				case write.Update != nil:
					rename(write.Update.TableName)
				case write.Delete != nil:
					rename(write.Delete.TableName)
				case write.ConditionCheck != nil:
					rename(write.ConditionCheck.TableName)
				}
			}
		}
		return send()
	})
}

// TestTheOtherHandlersOfThePageAboutCommits: every kind of item does what it says, and all of it or
// nothing.
func TestTheOtherHandlersOfThePageAboutCommits(t *testing.T) {
	apart := "-" + rand.Text()
	s, client, _ := local(t, apartFromOthers(apart))
	for table, key := range tablesOfThePage {
		keyedTable(t, client, table+apart, key)
	}
	row := func(table, id string) item {
		return getByKey(t, client, table+apart, item{tablesOfThePage[table]: S(id)})
	}
	putItem(t, client, "stock"+apart, item{"sku": S("A-1"), "available": N("3")})
	putItem(t, client, "carts"+apart, item{"customer": S("ada")})
	putItem(t, client, "customers"+apart, item{"customer": S("ada")})
	deliver := func(handler func(context.Context, Purchase) (Purchase, error), p Purchase) (Purchase, error) {
		return idempotent.Wrap(handler, s, idempotent.WithOperation("buy"), unhurried(),
			idempotent.WithKey(func(p Purchase) (string, error) { return p.ID, nil })).Handle(t.Context(), p)
	}

	_, err := deliver(buy, Purchase{ID: "o-1", SKU: "A-1", Quantity: 4, Customer: "ada"})
	var refused *dynamo.ConditionError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Refused, 1)
	require.Equal(t, 1, refused.Refused[0].Index, "the stock")
	require.Nil(t, row("orders", "o-1"))
	require.NotNil(t, row("carts", "ada"))
	_, err = deliver(buy, Purchase{ID: "o-2", SKU: "A-1", Quantity: 2, Customer: "bob"})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 3, refused.Refused[0].Index, "the customer")

	_, err = deliver(buy, Purchase{ID: "o-1", SKU: "A-1", Quantity: 2, Customer: "ada"})
	require.NoError(t, err, "it was released, so it may be another order now")
	require.Equal(t, N("1"), row("stock", "A-1")["available"])
	require.Nil(t, row("carts", "ada"))

	for range 2 {
		_, err = deliver(count, Purchase{ID: "o-3"})
		require.NoError(t, err)
	}
	require.Equal(t, N("1"), row("counters", "orders")["orders"], "counted once")

	out, err := deliver(chargeAndStore, Purchase{ID: "client-1", SKU: "A-1"})
	require.NoError(t, err)
	require.Equal(t, S(out.Charge), row("orders", out.ID)["charge"])
}
