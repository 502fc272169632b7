// Package paymentstest tests the commands of the example as they are deployed.
package paymentstest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/examples/internal/front"
)

// Run builds the command in the folder of the test, and sends it requests as an HTTP API with the one route $default does.
func Run(t *testing.T) {
	t.Helper()
	function := deployed.Run(t, "$default", "WEBHOOK_SECRET=s3cret")
	api := &front.Front{Function: deployed.Invoker{Sandbox: function.Sandbox}}
	post := func(path, key, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, req)
		return w
	}
	const charge, transfer, silent = `{"amount":1999,"source":"tok_visa"}`, `{"amount":1999,"account":"acc_1"}`, `{"amount":1999,"account":"acc_silent"}`

	first := post("/charges", "k", charge)
	require.Equal(t, 201, first.Code, first.Body)
	require.Equal(t, 201, post("/charges/ch_1/refund", "k", "").Code)
	require.Equal(t, 409, post("/charges/ch_1/refund", "another", "").Code)
	require.Equal(t, 201, post("/v1/transfers", "k", transfer).Code)
	require.Equal(t, 504, post("/v1/transfers", "silent", silent).Code)

	require.NoError(t, function.Kill(), "another process has to find the answers")
	require.Contains(t, function.Logs(), "POST /charges/{id}/refund", "all that the first one said is there once it has ended")
	again := post("/charges", "k", charge)
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	require.Equal(t, first.Body.String(), again.Body.String())
	final := post("/charges/ch_1/refund", "another", "")
	require.Equal(t, 409, final.Code)
	require.Equal(t, "true", final.Header().Get("Idempotent-Replayed"))
	require.Equal(t, 400, post("/v1/transfers", "k", silent).Code, "a mismatch, in Stripe's words")
	require.Equal(t, 409, post("/v1/transfers", "silent", silent).Code, "nobody knows")
	require.Equal(t, 422, post("/charges", "k", `{"amount":1,"source":"tok_visa"}`).Code)
	require.Equal(t, 400, post("/charges", "", charge).Code)
	require.Equal(t, 200, post("/search", "", "{}").Code)
	require.Equal(t, 401, post("/webhooks/acme", "", "{}").Code, "it is not signed")
	require.Equal(t, 2, function.Starts())
}

// RunWithoutSecret checks that the function does not start if anybody could sign webhooks.
func RunWithoutSecret(t *testing.T) {
	t.Helper()
	deployed.RequireRefused(t, deployed.Build(t), "WEBHOOK_SECRET is not set", "IDEMPOTENCY_TABLE=table")
}
