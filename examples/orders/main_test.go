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
	"github.com/go-idempotent/idempotent/internal/dynamolocal"
)

const (
	body     = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}`
	declined = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_chargeDeclined","email":"a@example.com"}`
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	const records, rows = "IDEMPOTENCY_TABLE=table", "ORDERS_TABLE=orders"
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set":                 {rows},
		"ORDERS_TABLE is not set":                      {records},
		`table "a b"`:                                  {"IDEMPOTENCY_TABLE=a b", rows},
		"is neither true nor false":                    {records, rows, "REQUIRE_TENANT=yes"},
		"STOCK_URL: stock: ":                           {records, rows, "STOCK_URL=s3cret"},
		"PAYMENTS_URL: payments: ":                     {records, rows, "PAYMENTS_URL=s3cret"},
		"MAIL_URL: it holds a user name or a password": {records, rows, "MAIL_URL=https://user:s3cret@mail.example"},
		"STOCK_URL and STOCK_SECRET":                   {records, rows, "STOCK_URL=https://stock.example", "STOCK_SECRET=arn"},
	} {
		deployed.RequireRefused(t, binary, says, environment...)
	}
}

// newTable makes a table of orders of its own.
func newTable(t *testing.T) string {
	t.Helper()
	name := "orders-" + rand.Text()
	require.NoError(t, order.CreateTable(t.Context(), dynamolocal.Client(dynamolocal.Endpoint(t)), name))
	return name
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
	table := newTable(t)
	function := deployed.Run(t, order.Route, "ORDERS_TABLE="+table,
		"STOCK_URL="+server.URL, "PAYMENTS_URL="+server.URL, "MAIL_URL="+server.URL)
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
	for kind, count := range map[counting.Kind]int{counting.Reservation: 2, counting.Charge: 1, counting.Message: 1, counting.Cancellation: 1} {
		require.Equal(t, count, services.Done(kind), kind)
	}
	for _, e := range services.Effects() {
		require.Equal(t, 1, e.Calls, e.Kind)
	}
	require.Equal(t, 1, rowsIn(t, table))
}

func TestWithoutURLsTheBinaryCounts(t *testing.T) {
	t.Parallel()
	function := deployed.Run(t, order.Route, "ORDERS_TABLE="+newTable(t))
	first := function.Post(t, "k", body)
	require.Equal(t, 201, first.Code, first.Body)
	var ids map[string]string
	require.NoError(t, json.Unmarshal(first.Body.Bytes(), &ids))
	require.Len(t, ids, 3)
	require.Equal(t, 402, function.Post(t, "d", declined).Code)
	require.Contains(t, function.Logs(), "neither MAIL_URL nor MAIL_SECRET is set")
}
