package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
	"github.com/go-idempotent/idempotent/internal/dynamolocal"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

const body = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}`

// serves runs the function until it is told to end, and checks what it says when it begins.
func serves(t *testing.T, values map[string]string, says string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- local.Run(ctx, environment(values), in, function)
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	require.Contains(t, line, "POST /orders is served at")
	require.Contains(t, line, says)
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line) + "/orders"

	first := sandbox.Post(t.Context(), url, "k", body)
	require.NoError(t, first.Is(201))
	require.NoError(t, sandbox.Post(t.Context(), url, "k", body).Replays(first))
	require.NoError(t, sandbox.Post(t.Context(), url, "other", "{}").Is(400))
	cancel()
	require.NoError(t, <-ended)
}

func TestItServesTheFunctionUntilItIsTold(t *testing.T) {
	t.Parallel()
	serves(t, map[string]string{"PORT": "0"}, "No rows of the orders are kept: the store in memory has no transactions")
}

func TestOnDynamoDBItKeepsARowOfEachOrder(t *testing.T) {
	t.Parallel()
	records := localstore.Settings{Store: "dynamodb", Endpoint: dynamolocal.Endpoint(t), Table: "local-records-" + rand.Text()}
	name := "local-orders-" + rand.Text()
	serves(t, map[string]string{
		"PORT": "0", "STORE": records.Store, "AWS_ENDPOINT_URL_DYNAMODB": records.Endpoint, "IDEMPOTENCY_TABLE": records.Table, rows.Variable: name,
	}, "Each order is a row in table "+name)
	table, err := rows.Open(t.Context(), name, records)
	require.NoError(t, err)
	count, err := table.Count(t.Context(), "a@example.com")
	require.NoError(t, err)
	require.Equal(t, 1, count)
}

func TestItSaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	for says, values := range map[string]map[string]string{
		"STORE":     {"STORE": "redis"},
		"STOCK_URL": {"STOCK_URL": "nowhere"},
		"MAIL_URL":  {"MAIL_URL": "nowhere"},
	} {
		require.ErrorContains(t, local.Run(t.Context(), environment(values), io.Discard, function), says)
	}
}

func TestATableThatCannotBeMadeIsReported(t *testing.T) {
	t.Parallel()
	values := map[string]string{"STORE": "dynamodb", "AWS_ENDPOINT_URL_DYNAMODB": dynamolocal.Endpoint(t), rows.Variable: "a b"}
	require.ErrorContains(t, local.Run(t.Context(), environment(values), io.Discard, function), `table "a b"`)
}
