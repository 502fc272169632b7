package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

const (
	body     = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}`
	declined = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_chargeDeclined","email":"a@example.com"}`
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	const records, rows, messages = "IDEMPOTENCY_TABLE=table", "ORDERS_TABLE=orders", "OUTBOX_TABLE=outbox"
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set":                  {rows, messages},
		"ORDERS_TABLE is not set":                       {records, messages},
		"OUTBOX_TABLE is not set":                       {records, rows},
		`table "a b"`:                                   {"IDEMPOTENCY_TABLE=a b", rows, messages},
		"is neither true nor false":                     {records, rows, messages, "REQUIRE_TENANT=yes"},
		"STOCK_URL: stock: ":                            {records, rows, messages, "STOCK_URL=s3cret"},
		"PAYMENTS_URL: payments: ":                      {records, rows, messages, "PAYMENTS_URL=s3cret"},
		"STOCK_URL: it holds a user name or a password": {records, rows, messages, "STOCK_URL=https://user:s3cret@stock.example"},
		"STOCK_URL and STOCK_SECRET":                    {records, rows, messages, "STOCK_URL=https://stock.example", "STOCK_SECRET=arn"},
	} {
		deployed.RequireRefused(t, binary, says, environment...)
	}
}

// newTables makes tables of its own: of orders, and of messages. The variables name them.
func newTables(t *testing.T) (orders, messages string, variables []string) {
	t.Helper()
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	orders, messages = "orders-"+rand.Text(), "outbox-"+rand.Text()
	require.NoError(t, order.CreateTable(t.Context(), client, orders))
	require.NoError(t, outbox.CreateTable(t.Context(), client, messages))
	return orders, messages, []string{"ORDERS_TABLE=" + orders, "OUTBOX_TABLE=" + messages}
}

func rowsIn(t *testing.T, table string) int {
	t.Helper()
	out, err := dynamolocal.Client(dynamolocal.Endpoint(t)).Scan(t.Context(),
		&dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
	require.NoError(t, err)
	return len(out.Items)
}

func TestTheBinaryTakesAnOrderAndReplaysIt(t *testing.T) {
	t.Parallel()
	services := counting.New()
	server := httptest.NewServer(services)
	t.Cleanup(server.Close)
	orders, messages, variables := newTables(t)
	function := deployed.Run(t, order.Route, append(variables, "STOCK_URL="+server.URL, "PAYMENTS_URL="+server.URL, "MAIL_URL="+server.URL)...)
	for _, c := range []struct {
		key, body string
		status    int
	}{{"k", body, 201}, {"d", declined, 402}, {"i", "{}", 400}} {
		first := function.Post(t, c.key, c.body)
		require.Equal(t, c.status, first.Code, first.Body)
		require.NoError(t, function.Kill(), "another process has to find the answer")
		again := function.Post(t, c.key, c.body)
		require.Equal(t, c.status, again.Code)
		require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
		require.Equal(t, first.Body.String(), again.Body.String())
	}
	for kind, count := range map[counting.Kind]int{counting.Reservation: 2, counting.Charge: 1, counting.Message: 0, counting.Cancellation: 1} {
		require.Equal(t, count, services.Done(kind), kind)
	}
	for _, e := range services.Effects() {
		require.Equal(t, 1, e.Calls, e.Kind)
	}
	require.Equal(t, 1, rowsIn(t, orders))
	require.Equal(t, 1, rowsIn(t, messages), "the mail is not for this function")
}

func TestWithoutURLsTheBinaryCounts(t *testing.T) {
	t.Parallel()
	_, _, variables := newTables(t)
	function := deployed.Run(t, order.Route, variables...)
	first := function.Post(t, "k", body)
	require.Equal(t, 201, first.Code, first.Body)
	var ids map[string]string
	require.NoError(t, json.Unmarshal(first.Body.Bytes(), &ids))
	require.Len(t, ids, 3)
	require.Equal(t, 402, function.Post(t, "d", declined).Code)
	require.Contains(t, function.Logs(), "neither STOCK_URL nor STOCK_SECRET is set")
}
