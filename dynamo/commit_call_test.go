package dynamo_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/execution"
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

// agreeable is a client that accepts every transaction.
type agreeable struct{ fake }

func (agreeable) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
	...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// committer is the hook of a delivery that commits at once.
type committer struct {
	store *dynamo.Store
	seen  store.Record
}

func (c *committer) Commit(ctx context.Context, _ any, w store.Writes, _ error) error {
	next := c.seen
	next.Status, next.Result = store.StatusCompleted, []byte(`{"id":"o-1"}`)
	next.Seal = store.CommitSeal(next.Owner, next.Result, 1)
	if _, done, err := c.store.Commit(ctx, c.seen, next, w, "token-1"); err != nil || !done {
		return &execution.Fault{Kind: execution.ErrCommitFailed, Err: err}
	}
	return nil
}

// oneRow commits an order with the answer of a record, as a handler does.
func oneRow(tb testing.TB) func() {
	tb.Helper()
	hook := &committer{store: dynamo.New(agreeable{}, table), seen: record("order#1")}
	ctx := execution.With(tb.Context(), execution.Claim{Operation: "order", RecordKey: "order#1", Commits: hook})
	return func() {
		_, err := dynamo.Commit(ctx, "out", dynamo.Put("orders", order{"o-1", "new", 5}, dynamo.IfAbsent("order_id")))
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkCommit is what this package takes for one row, without the SDK and the network.
func BenchmarkCommit(b *testing.B) {
	commit := oneRow(b)
	b.ReportAllocs()
	for b.Loop() {
		commit()
	}
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
	return dynamolocal.Between(func(_ context.Context, in any, send func() (any, error)) (any, error) {
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
	client *dynamodb.Client
	orders string
	opts   []idempotent.Option
	// large makes the answers so large that they are kept in parts, stepped takes a step before,
	// endless has no deadline.
	large, stepped, endless bool
}

// family is a kind of events that the shop takes: it delivers a request with a key, and returns the
// status and the body of the answer and its headers.
type family func(t *testing.T, s *shop, key string) (status int, body string, headers map[string]string)

// httpFamily makes a family of an event in which %s stands for the headers and the body.
func httpFamily[In, Out any](event string) family {
	return func(t *testing.T, s *shop, key string) (int, string, map[string]string) {
		t.Helper()
		answer := func(status int, body string) (out Out) {
			text, err := json.Marshal(map[string]any{
				"statusCode": status, "body": body, "cookies": []string{"session=1"},
			})
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &out))
			return out
		}
		h := idempotent.Wrap(func(ctx context.Context, _ In) (Out, error) {
			id, body, err := s.take(ctx)
			if err != nil {
				return answer(500, ""), err
			}
			out, err := dynamo.Commit(ctx, answer(201, body),
				dynamo.Put(s.orders, order{ID: id}, dynamo.IfAbsent("order_id")))
			if _, taken := errors.AsType[*dynamo.ConditionError](err); taken {
				return answer(409, "taken"), nil
			}
			return out, err
		}, s.store, append(s.opts, unhurried())...)
		ctx := t.Context()
		if !s.endless {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 29*time.Second)
			defer cancel()
		}
		text, err := h.Invoke(ctx, fmt.Appendf(nil, event, `{"idempotency-key":"`+key+`"},"body":"{\"id\":\"o-1\"}"`))
		require.NoError(t, err)
		var out events.APIGatewayProxyResponse // has the members of all of them
		require.NoError(t, json.Unmarshal(text, &out))
		headers := make(map[string]string)
		for name, values := range out.MultiValueHeaders {
			headers[name] = strings.Join(values, ",")
		}
		maps.Copy(headers, out.Headers)
		return out.StatusCode, out.Body, headers
	}
}

// take is what the handler does before its commit.
func (s *shop) take(ctx context.Context) (id, body string, err error) {
	id = idempotent.DerivedKey(ctx, "order")
	if s.stepped {
		id, err = idempotent.Step(ctx, "reserve", func(context.Context) (string, error) { return id, nil })
	}
	body = "created " + id
	if s.large {
		body += string(largeAnswer(1 << 19))
	}
	return id, body, err
}

func families() map[string]family {
	const http = `"requestContext":{"http":{"method":"POST","path":"/orders"}}}`
	return map[string]family{
		"HTTP API": httpFamily[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](
			`{"version":"2.0","routeKey":"POST /orders","rawPath":"/orders","headers":%s,` + http),
		"REST API": httpFamily[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse](
			`{"resource":"/orders","path":"/orders","httpMethod":"POST","headers":%s}`),
		"function URL": httpFamily[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse](
			`{"version":"2.0","rawPath":"/orders","headers":%s,` + http),
		"load balancer": httpFamily[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse](
			`{"httpMethod":"POST","path":"/orders","headers":%s,"requestContext":{"elb":{"targetGroupArn":` +
				`"arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/t/1"}}}`),
	}
}

// TestCommitsOfHTTPHandlers: behind every front, in every table and in every mode the row and the
// answer are there once, and the replay is the answer.
func TestCommitsOfHTTPHandlers(t *testing.T) {
	t.Parallel()
	for name, deliver := range families() {
		for mode, change := range map[string]func(*shop){
			"plain":            func(*shop) {},
			"large":            func(s *shop) { s.large = true },
			"after a step":     func(s *shop) { s.stepped = true },
			"with a heartbeat": func(s *shop) { s.endless = true },
			"behind a cache":   func(s *shop) { s.store = cache.New(s.store, 1<<20) },
			"large, after a step, behind a cache": func(s *shop) {
				s.large, s.stepped, s.store = true, true, cache.New(s.store, 1<<20)
			},
			"beside Powertools for Python":     sharing(idempotent.PowertoolsPython),
			"beside Powertools for TypeScript": sharing(idempotent.PowertoolsTypeScript),
			"beside Powertools for Java":       sharing(idempotent.PowertoolsJava),
		} {
			for shape, opts := range map[string][]dynamo.Config{"": nil, ", in another shape": shaped()} {
				t.Run(name+", "+mode+shape, func(t *testing.T) {
					t.Parallel()
					client, table := newTableOf(t, opts...)
					s := &shop{
						store: dynamo.New(client, table, opts...), client: client,
						orders: ordersTable(t, client),
					}
					change(s)
					status, body, headers := deliver(t, s, "k-1")
					require.Equal(t, 201, status, body)
					require.NotContains(t, headers, "Idempotent-Replayed")
					id, _, _ := strings.Cut(strings.TrimPrefix(body, "created "), "\"")
					require.Len(t, scan(t, client, s.orders), 1)
					require.NotEmpty(t, getOrder(t, client, s.orders, id))

					again, replay, headers := deliver(t, s, "k-1")
					require.Equal(t, 201, again)
					require.Equal(t, body, replay)
					require.Equal(t, "true", headers["Idempotent-Replayed"])
					require.Len(t, scan(t, client, s.orders), 1)
				})
			}
		}
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
