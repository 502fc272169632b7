package lambdaruntime

import (
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

func TestARequestBecomesTheEventThatAPIGatewaySends(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequest("POST", "/charges/a%20b?x=1&y=%26&x=2,3", strings.NewReader("ignored"))
	req.Host = "api.example.com:8443"
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "curl/8.5.0")
	req.Header.Add("Idempotency-Key", "a")
	req.Header.Add("Idempotency-Key", "b")
	req.Header.Add("Cookie", "one=1; two=2")
	req.Header.Add("Cookie", "three=3")

	e := event(req, []byte(`{"amount":1.10}`), "POST /charges/{id}", "request-1")
	got, err := json.MarshalIndent(e, "", "  ")
	require.NoError(t, err)
	const golden = "testdata/event.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(want)), string(got))
}

func TestABodyIsBase64UnlessItsMediaTypeIsText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mediaType, encoding string
		isBase64            bool
	}{
		{"application/json", "", false},
		{"Application/JSON; charset=utf-8", "", false},
		{"application/xml", "", false},
		{"application/javascript", "", false},
		{"text/plain", "", false},
		{"", "", true},
		{"application/x-www-form-urlencoded", "", true}, // what curl -d sends by itself
		{"application/octet-stream", "", true},
		{"image/png", "", true},
		{"application/json", "gzip", true},
	} {
		req := httptest.NewRequest("POST", "/", nil)
		req.Header.Set("Content-Type", c.mediaType)
		req.Header.Set("Content-Encoding", c.encoding)
		e := event(req, []byte("{}\xff"), "$default", "request-1")
		require.Equal(t, c.isBase64, e.IsBase64Encoded, c)
		if c.isBase64 {
			require.Equal(t, "e33/", e.Body)
		} else {
			require.Equal(t, "{}\xff", e.Body)
		}
	}
}
