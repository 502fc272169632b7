package dynamo_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

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
		require.NoError(t, event.StoreErr)
		return out
	}
	require.Equal(t, 201, send("k-1", `{"order_id":"o-1","sku":"A-1"}`).StatusCode)
	for _, outcome := range []report.Outcome{report.Executed, report.Replayed} {
		out := send("k-2", `{"order_id":"o-1","sku":"B-2"}`)
		require.Equal(t, 409, out.StatusCode)
		require.JSONEq(t, `{"order_id":"o-1","sku":"A-1"}`, out.Body)
		require.Equal(t, outcome, event.Outcome)
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
	return dynamotest.Between(func(_ context.Context, in any, send func() (any, error)) (any, error) {
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

// shop is a function that takes orders: each delivery commits the row of its order with its answer.
type shop struct {
	store  store.Store
	orders string
	opts   []idempotent.Option
	// large makes the answers so large that they are kept in parts, stepped takes a step before,
	// endless has no deadline.
	large, stepped, endless bool
}

// deliver delivers a request, and returns its answer.
func (s *shop) deliver(t *testing.T) (out events.APIGatewayV2HTTPResponse) {
	t.Helper()
	h := idempotent.Wrap(s.take, s.store, append(s.opts, unhurried())...)
	ctx := t.Context()
	if !s.endless {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 29*time.Second)
		defer cancel()
	}
	text, err := h.Invoke(ctx, []byte(`{"version":"2.0","routeKey":"POST /orders","rawPath":"/orders",
		"headers":{"idempotency-key":"k-1"},"body":"{\"id\":\"o-1\"}",
		"requestContext":{"http":{"method":"POST","path":"/orders"}}}`))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// take is the handler.
func (s *shop) take(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse,
	err error,
) {
	id := idempotent.DerivedKey(ctx, "order")
	if s.stepped {
		id, err = idempotent.Step(ctx, "reserve", func(context.Context) (string, error) { return id, nil })
		if err != nil {
			return out, err
		}
	}
	out = events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: "created " + id}
	if s.large {
		out.Body += string(largeAnswer(1 << 19))
	}
	return dynamo.Commit(ctx, out, dynamo.Put(s.orders, order{ID: id}, dynamo.IfAbsent("order_id")))
}

// TestCommitsOfAnHTTPHandler: in every table and in every mode the row and the answer are there
// once, and the replay is the answer.
func TestCommitsOfAnHTTPHandler(t *testing.T) {
	t.Parallel()
	for mode, change := range map[string]func(*shop){
		"plain":            func(*shop) {},
		"large":            func(s *shop) { s.large = true },
		"after a step":     func(s *shop) { s.stepped = true },
		"with a heartbeat": func(s *shop) { s.endless = true },
		"large, after a step, behind a cache": func(s *shop) {
			s.large, s.stepped, s.store = true, true, cache.New(s.store, 1<<20)
		},
		"beside Powertools for Python":     sharing(idempotent.PowertoolsPython),
		"beside Powertools for TypeScript": sharing(idempotent.PowertoolsTypeScript),
		"beside Powertools for Java":       sharing(idempotent.PowertoolsJava),
	} {
		t.Run(mode, func(t *testing.T) {
			inEveryShape(t, func(t *testing.T, records *dynamo.Store, client *dynamodb.Client, _ string,
				_ ...dynamo.Config,
			) {
				s := &shop{store: records, orders: ordersTable(t, client)}
				change(s)
				first := s.deliver(t)
				require.Equal(t, 201, first.StatusCode, first.Body)
				require.NotContains(t, first.Headers, "Idempotent-Replayed")
				id, _, _ := strings.Cut(strings.TrimPrefix(first.Body, "created "), "\"")
				require.NotEmpty(t, getOrder(t, client, s.orders, id))

				again := s.deliver(t)
				require.Equal(t, "true", again.Headers["Idempotent-Replayed"])
				require.Equal(t, 201, again.StatusCode)
				require.Equal(t, first.Body, again.Body)
				require.Len(t, scan(t, client, s.orders), 1)
			})
		})
	}
}

func sharing(l idempotent.PowertoolsLanguage) func(*shop) {
	return func(s *shop) {
		s.opts = append(s.opts,
			idempotent.WithPowertools(idempotent.Powertools{Language: l, Prefix: "p", AllCallers: true}),
			idempotent.WithKeyPath("powertools_json(body).id"))
	}
}

// scan returns all items of a table.
func scan(t *testing.T, client *dynamodb.Client, table string) []item {
	t.Helper()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: new(true)})
	require.NoError(t, err)
	return out.Items
}
