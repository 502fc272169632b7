package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/front"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/internal/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/lambdaruntime"
)

// bootstrap builds the binary as it is deployed.
func bootstrap(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := bootstrap(t)
	for _, c := range []struct {
		name        string
		environment []string
		says        string
	}{
		{"no table", nil, "IDEMPOTENCY_TABLE is not set"},
		{"an impossible table", []string{"IDEMPOTENCY_TABLE=a b"}, `table "a b"`},
		{"an impossible provider", []string{"IDEMPOTENCY_TABLE=table", "PAYMENTS_URL=secret"}, "PAYMENTS_URL: "},
		{"an impossible format", []string{"IDEMPOTENCY_TABLE=table", "PAYLOAD_FORMAT=3.0"}, "is neither 1.0 nor 2.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary)
			cmd.Env = append(slices.Clone(c.environment), "AWS_REGION=us-east-1", "AWS_LAMBDA_RUNTIME_API=127.0.0.1:1")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Contains(t, string(out), c.says)
			require.NotContains(t, string(out), "secret")
		})
	}
}

func TestTheBinaryServesAChargeAndItsReplay(t *testing.T) {
	t.Parallel()
	endpoint := dynamolocal.Endpoint(t)
	table := "apigw-charge-" + strings.ToLower(filepath.Base(t.TempDir())) + "-" + time.Now().Format("150405.000000")
	require.NoError(t, dynamo.CreateTable(t.Context(), dynamolocal.Client(endpoint), table))
	ledger := payments.NewLedger()
	provider := httptest.NewServer(payments.Serve(ledger))
	t.Cleanup(provider.Close)
	sandbox := lambdaruntime.NewSandbox(lambdaruntime.Function{
		Bootstrap: bootstrap(t),
		Environment: []string{
			"IDEMPOTENCY_TABLE=" + table, "PAYMENTS_URL=" + provider.URL, "AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
			"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		},
	})
	t.Cleanup(func() {
		require.NoError(t, sandbox.Close())
		if t.Failed() {
			t.Log(sandbox.Logs())
		}
	})
	function := &front.Front{Function: invoker{sandbox}, Routes: []string{charge.Route}}

	for _, metadata := range []string{
		`{"order":9007199254740993,"weight":1.10}`,
		`{"large":"` + strings.Repeat("ü", 500_000) + `"}`, // more than an item of DynamoDB holds
	} {
		charges := ledger.Count()
		send := func() *httptest.ResponseRecorder {
			body := `{"amount":1999,"currency":"usd","source":"tok_visa","metadata":` + metadata + `}`
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/charges", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Idempotency-Key", "key-of-"+metadata[2:7])
			w := httptest.NewRecorder()
			function.ServeHTTP(w, req)
			return w
		}
		first := send()
		require.Equal(t, 201, first.Code, first.Body)
		require.True(t, strings.HasSuffix(first.Body.String(), `,"metadata":`+metadata+`}`))

		require.NoError(t, sandbox.Kill(), "another process has to find the answer")
		again := send()
		require.Equal(t, 201, again.Code)
		require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
		require.Equal(t, first.Body.String(), again.Body.String())
		require.Equal(t, charges+1, ledger.Count())
	}
	require.Equal(t, 3, sandbox.Starts())
}

// invoker gives a sandbox the signature of a handler, and its function a timeout.
type invoker struct{ *lambdaruntime.Sandbox }

func (i invoker) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return i.Sandbox.Invoke(ctx, payload, 20*time.Second)
}
