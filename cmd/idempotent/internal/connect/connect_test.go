package connect_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
)

func TestEmulatorsAreNotAWS(t *testing.T) {
	t.Parallel()
	for endpoint, of := range map[string]bool{
		"": true, "https://dynamodb.eu-central-1.amazonaws.com": true,
		"https://vpce-1.dynamodb.eu-central-1.vpce.amazonaws.com": true,
		"https://dynamodb.cn-north-1.amazonaws.com.cn":            true,
		"https://dynamodb.eu-central-1.api.aws:443":               true,
		"http://127.0.0.1:8000":                                   false, "http://localhost:4566": false,
		"http://dynamodb.localhost.localstack.cloud:4566": false,
		"https://amazonaws.com.example.org":               false, "https://notamazonaws.com": false,
	} {
		c := connect.Connection{Endpoint: endpoint}
		assert.Equal(t, of, c.OfAWS(), endpoint)
	}
}

// isolate keeps the configuration of whoever runs the tests out.
func isolate(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_PROFILE": "",
		"AWS_REGION":  "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_ENDPOINT_URL":          "",
		"AWS_ENDPOINT_URL_DYNAMODB": "",
	} {
		t.Setenv(name, value)
	}
}

func TestTheEndpointThatIsGivenCountsBeforeThatOfTheEnvironment(t *testing.T) {
	isolate(t)
	var given, environment atomic.Int32
	answer := func(n *atomic.Int32) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			_, _ = w.Write([]byte("{}"))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", answer(&environment))
	for _, c := range []struct {
		endpoint               string
		ofGiven, ofEnvironment int32
	}{{"", 0, 1}, {answer(&given), 1, 1}} {
		conn, err := connect.Open(t.Context(), connect.Target{Table: "idempotency", Endpoint: c.endpoint})
		require.NoError(t, err)
		_, _, err = conn.Store.Get(t.Context(), "charge#1")
		require.NoError(t, err)
		assert.Equal(t, c.ofGiven, given.Load())
		assert.Equal(t, c.ofEnvironment, environment.Load())
	}
}

// An endpoint on this machine needs neither a Region nor credentials, and anything else needs both.
func TestOnlyALocalEndpointGoesWithoutCredentials(t *testing.T) {
	isolate(t)
	conn, err := connect.Open(t.Context(), connect.Target{Table: "idempotency", Endpoint: "http://127.0.0.1:1"})
	require.NoError(t, err)
	assert.Equal(t, "us-east-1", conn.Config.Region)
	assert.False(t, conn.OfAWS())
	_, err = connect.Open(t.Context(), connect.Target{Table: "idempotency", Endpoint: "http://dynamodb.example:1"})
	require.ErrorContains(t, err, "there is no Region")
	_, err = connect.Open(t.Context(),
		connect.Target{Table: "idempotency", Endpoint: "http://dynamodb.example:1", Region: "eu-central-1"})
	require.ErrorContains(t, err, "there are no AWS credentials")
}
