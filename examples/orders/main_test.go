package main

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/order"
)

const (
	body     = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}`
	declined = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_chargeDeclined","email":"a@example.com"}`
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set":                 nil,
		`table "a b"`:                                  {"IDEMPOTENCY_TABLE=a b"},
		"is neither true nor false":                    {"IDEMPOTENCY_TABLE=table", "REQUIRE_TENANT=yes"},
		"STOCK_URL: stock: ":                           {"IDEMPOTENCY_TABLE=table", "STOCK_URL=s3cret"},
		"PAYMENTS_URL: payments: ":                     {"IDEMPOTENCY_TABLE=table", "PAYMENTS_URL=s3cret"},
		"MAIL_URL: it holds a user name or a password": {"IDEMPOTENCY_TABLE=table", "MAIL_URL=https://user:s3cret@mail.example"},
		"STOCK_URL and STOCK_SECRET":                   {"IDEMPOTENCY_TABLE=table", "STOCK_URL=https://stock.example", "STOCK_SECRET=arn"},
	} {
		deployed.RequireRefused(t, binary, says, environment...)
	}
}

func TestTheBinaryTakesAnOrderAndReplaysIt(t *testing.T) {
	t.Parallel()
	services := counting.New()
	server := httptest.NewServer(services)
	t.Cleanup(server.Close)
	function := deployed.Run(t, order.Route, "STOCK_URL="+server.URL, "PAYMENTS_URL="+server.URL, "MAIL_URL="+server.URL)
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
}

func TestWithoutURLsTheBinaryCounts(t *testing.T) {
	t.Parallel()
	function := deployed.Run(t, order.Route)
	first := function.Post(t, "k", body)
	require.Equal(t, 201, first.Code, first.Body)
	var ids map[string]string
	require.NoError(t, json.Unmarshal(first.Body.Bytes(), &ids))
	require.Len(t, ids, 3)
	require.Equal(t, 402, function.Post(t, "d", declined).Code)
	require.Contains(t, function.Logs(), "neither MAIL_URL nor MAIL_SECRET is set")
}
