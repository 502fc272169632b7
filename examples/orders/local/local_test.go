package main

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestItServesTheFunctionUntilItIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- local.Run(ctx, environment(map[string]string{"PORT": "0"}), in, function)
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	require.Contains(t, line, "POST /orders is served at")
	require.Contains(t, line, "No rows of the orders are kept")
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line) + "/orders"

	const body = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}`
	first := sandbox.Post(t.Context(), url, "k", body)
	require.NoError(t, first.Is(201))
	require.NoError(t, sandbox.Post(t.Context(), url, "k", body).Replays(first))
	require.NoError(t, sandbox.Post(t.Context(), url, "other", "{}").Is(400))
	cancel()
	require.NoError(t, <-ended)
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
