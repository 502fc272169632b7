package localrun_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/routers/payments"
	"github.com/go-idempotent/idempotent/examples/routers/payments/localrun"
)

// TestEachRouterIsServed sends what the command tells a reader to send.
func TestEachRouterIsServed(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*payments.API) payments.Router{"ServeMux": payments.ServeMux, "chi": payments.Chi} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, on)
			for _, c := range []struct {
				path, key, body, replayed string
				status                    int
			}{
				{"/charges", "order-1", `{"amount":1999,"source":"tok_visa"}`, "", 201},
				{"/charges", "order-1", `{"amount":1999,"source":"tok_visa"}`, "true", 201},
				{"/charges/ch_1/refund", "refund-1", "", "", 201},
				{"/v1/transfers", "rent-1", `{"amount":1999,"account":"acc_silent"}`, "", 504},
				{"/v1/transfers", "rent-1", `{"amount":1999,"account":"acc_silent"}`, "", 409},
				{"/search", "", `{"status":"succeeded"}`, "", 200},
			} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+c.path, strings.NewReader(c.body))
				require.NoError(t, err)
				req.Header.Set("Content-Type", "application/json")
				if c.key != "" {
					req.Header.Set("Idempotency-Key", c.key)
				}
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, c.status, resp.StatusCode, c.path)
				require.Equal(t, c.replayed, resp.Header.Get("Idempotent-Replayed"), c.path)
			}
		})
	}
}

// serve runs the command until the test ends, and returns its URL.
func serve(t *testing.T, on func(*payments.API) payments.Router) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	getenv := func(name string) string { return map[string]string{"PORT": "0"}[name] }
	go func() {
		ended <- local.Run(ctx, getenv, in, localrun.Function(on))
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
}
