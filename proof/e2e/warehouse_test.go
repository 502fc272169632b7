package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// warehouse is a deployment of the function that takes orders, its two services, which are one
// server, the network in front of them, the table of the orders, and that of the messages that
// leave with them.
type warehouse struct {
	*deployment

	services *provider
	network  *wire.Proxy
	orders   string
	outbox   string
}

func newWarehouse(t *testing.T, sandboxes int) *warehouse {
	t.Helper()
	p := newProvider(t)
	network := startProxy(t, p.URL)
	orders := "e2e-orders-" + rand.Text()
	require.NoError(t, dynamolocal.CreateTable(t.Context(), dynamolocal.Client(platform.endpoint(t), closeIdle(t)),
		orders, "order_id"))
	messages := newOutbox(t)
	w := &warehouse{deploy(t, sandboxes, ordering, lambdaruntime.Function{
		Name: "orders", Environment: []string{
			"ORDERS_TABLE=" + orders, "OUTBOX_TABLE=" + messages, "STOCK_URL=" + network.URL(),
			"PAYMENTS_URL=" + network.URL(),
		},
	}), p, network, orders, messages}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrives = w.assertNotRecorded
	return w
}

// steps are the names of the steps, by the route that they ask.
var steps = map[string]string{reserve: "reserve", charge: "charge", cancel: "cancel"}

// assertNotRecorded checks, when a request has come to a service, that no result is recorded of the
// step that asks. With several orders at once nobody can tell whose request it is.
func (w *warehouse) assertNotRecorded(route string) {
	out, err := w.dynamo.Scan(context.Background(),
		&dynamodb.ScanInput{TableName: aws.String(w.table), ConsistentRead: aws.Bool(true)})
	if assert.NoError(w.t, err) && len(out.Items) == 1 {
		assert.NotContains(w.t, out.Items[0], "step:"+steps[route], "what is recorded never runs again")
	}
}

// cart is one order: what a client sends until it has an answer.
type cart struct {
	order

	declined bool
}

func newCart(t *testing.T) cart {
	t.Helper()
	return cart{order: newOrder(t)}
}

func (c cart) request() events.APIGatewayV2HTTPRequest {
	source := "tok_visa"
	if c.declined {
		source = services.DeclinedSource
	}
	body := fmt.Sprintf(`{"sku":"A-1","quantity":2,"amount":%d,"currency":"usd","source":%q,"email":"a@example.com"}`,
		c.amount, source)
	r := request(http.MethodPost, "/orders", body)
	r.Headers["idempotency-key"] = c.key
	return r
}

// ids are what an answer tells of an order.
type ids struct {
	Order       string `json:"order_id"`
	Reservation string `json:"reservation_id"`
	Charge      string `json:"charge_id"`
}

// assertOrdered checks what must be true of an order whose client has its answer, the only one of
// the warehouse: each effect happened once, under one key of its own, and whoever asked again asked
// with that key; its record is completed, has no step any more, and is what every client was told.
func (w *warehouse) assertOrdered(c cart, answers []answer) {
	w.t.Helper()
	effects, other := []string{reserve, charge}, cancel
	if c.declined {
		effects, other = []string{reserve, cancel}, ""
	}
	keys := map[string]bool{}
	made := map[string]string{}
	for _, route := range effects {
		all := w.services.about(route)
		require.Len(w.t, all, 1, "effects of %s", route)
		made[route], keys[all[0].Key] = all[0].ID, true
		for _, key := range w.services.keysOf(route) {
			assert.Equal(w.t, all[0].Key, key, "one key downstream: %s", route)
		}
	}
	assert.Len(w.t, keys, len(effects), "each effect has a key of its own")
	if other != "" {
		assert.Empty(w.t, w.services.keysOf(other))
	}

	stored := w.record()
	w.assertAnswered(stored, answers)
	for _, item := range w.items() {
		for name := range item {
			assert.False(w.t, strings.HasPrefix(name, "step"), "%s is left", name)
		}
	}
	response := stored.response(w.t)
	if c.declined {
		assert.Equal(w.t, http.StatusPaymentRequired, response.StatusCode)
		assert.Empty(w.t, w.rows())
		assert.Empty(w.t, w.messages())
		return
	}
	assert.Equal(w.t, http.StatusCreated, response.StatusCode)
	var told ids
	require.NoError(w.t, json.Unmarshal([]byte(response.Body), &told))
	assert.Len(w.t, told.Order, 36)
	assert.Equal(w.t, ids{told.Order, made[reserve], made[charge]}, told)
	assert.Equal(w.t, []orderRow{c.row(told)}, w.rows(), "the order is what was answered")
	require.Len(w.t, w.messages(), 1)
	assert.JSONEq(w.t, fmt.Sprintf(`{"order_id":%q,"email":"a@example.com"}`, told.Order), w.messages()[0].Body)
	assert.True(w.t, w.messages()[0].pending(), "nobody delivers here")
}

// askedFor is how often the services were asked on each route.
func (w *warehouse) askedFor() map[string]int {
	counts := map[string]int{}
	for route := range steps {
		if n := len(w.services.keysOf(route)); n > 0 {
			counts[route] = n
		}
	}
	return counts
}

// saga is an order that takes one of the ways through its steps.
type saga struct {
	name     string
	declined bool
	// calls are those of the store in the first delivery that follows, if nothing fails, and
	// requests those of the services.
	calls    []string
	requests []string
	// records tells which step a call records, by the number of the call.
	records map[int]string
	// status is how that delivery is answered, asked how often the services are asked until the
	// order has its final answer.
	status int
	asked  map[string]int
}

var sagas = []saga{
	{
		name:     "order",
		calls:    []string{"PutItem", "UpdateItem", "UpdateItem", "TransactWriteItems"},
		requests: []string{reserve, charge},
		records:  map[int]string{2: reserve, 3: charge},
		status:   http.StatusCreated, asked: once,
	},
	{
		name: "declined", declined: true,
		calls:    []string{"PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem"},
		requests: []string{reserve, charge, cancel},
		records:  map[int]string{2: reserve, 3: charge, 4: cancel},
		status:   http.StatusPaymentRequired, asked: map[string]int{reserve: 1, charge: 1, cancel: 1},
	},
}

// begin starts a saga in a warehouse of its own.
func (y saga) begin(t *testing.T) (*warehouse, cart) {
	t.Helper()
	w, c := newWarehouse(t, 1), newCart(t)
	c.declined = y.declined
	return w, c
}

func TestWithoutFaultsTheSagasTakeTheirCalls(t *testing.T) {
	t.Parallel()
	for _, y := range sagas {
		t.Run(y.name, func(t *testing.T) {
			t.Parallel()
			w, c := y.begin(t)
			first := w.post(c)
			require.Equal(t, y.status, first.status, first)
			assert.False(t, first.replayed())
			assert.Equal(t, y.calls, w.proxy.Operations(), "one write for each step, and one for answer and row")
			routes := []string{}
			for _, operation := range w.network.Operations() {
				if i := strings.Index(operation, "/re_"); i > 0 {
					operation = operation[:i]
				}
				routes = append(routes, operation)
			}
			assert.Equal(t, y.requests, routes)
			w.assertOrdered(c, append(w.insist(c), first))
			assert.Equal(t, y.asked, w.askedFor())

			w.proxy.Forget()
			again := w.post(c)
			assert.True(t, again.replayed())
			assert.Equal(t, []string{"PutItem"}, w.proxy.Operations(), "a replay costs what it costs without steps")
			w.assertOrdered(c, []answer{again})
		})
	}
}

// plus is asked with n more of a route.
func plus(asked map[string]int, route string, n int) map[string]int {
	all := maps.Clone(asked)
	if n > 0 {
		all[route] += n
	}
	return all
}
