package e2e_test

import (
	"crypto/rand"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/lambdaruntime"
	"github.com/go-idempotent/idempotent/proof/wire"
)

const (
	// margin is how long a lease outlives the deadline of its invocation.
	margin = 2 * time.Second
	// claimBudget is how long a claim may take when the store does not answer.
	claimBudget = 3 * time.Second
	// slack is what a busy machine may add.
	slack = 5 * time.Second
)

// shop is a deployment of the function: its sandboxes, its table, the network between them, and the provider.
type shop struct {
	t        *testing.T
	provider *provider
	proxy    *wire.Proxy
	table    string
	dynamo   *dynamodb.Client // past the proxy
	// timeout is that of the function.
	timeout time.Duration
	// sandboxes are all, free those without an invocation.
	sandboxes []*lambdaruntime.Sandbox
	free      chan *lambdaruntime.Sandbox
}

// newShop deploys the function with a timeout that no scenario reaches by accident.
func newShop(t *testing.T, sandboxes int) *shop {
	t.Helper()
	endpoint := platform.endpoint(t)
	path, err := bootstrap()
	require.NoError(t, err)
	s := &shop{
		t:        t,
		provider: newProvider(t),
		table:    "e2e-" + rand.Text(),
		dynamo:   dynamolocal.Client(endpoint, closeIdle(t)),
		timeout:  20 * time.Second,
		free:     make(chan *lambdaruntime.Sandbox, sandboxes),
	}
	require.NoError(t, dynamo.CreateTable(t.Context(), s.dynamo, s.table))
	s.proxy, err = wire.Start(endpoint, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.proxy.Close()) })

	for range sandboxes {
		sandbox := lambdaruntime.NewSandbox(s.function(path))
		s.sandboxes = append(s.sandboxes, sandbox)
		s.free <- sandbox
	}
	t.Cleanup(s.close)
	return s
}

func (s *shop) function(bootstrap string) lambdaruntime.Function {
	return lambdaruntime.Function{Bootstrap: bootstrap, Name: "charge", Environment: []string{
		"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		"AWS_ENDPOINT_URL_DYNAMODB=" + s.proxy.URL(),
		"IDEMPOTENCY_TABLE=" + s.table,
		"PAYMENTS_URL=" + s.provider.URL,
	}}
}

// close ends the sandboxes, and tells what was seen if the test has failed.
func (s *shop) close() {
	for i, sandbox := range s.sandboxes {
		assert.NoError(s.t, sandbox.Close())
		if s.t.Failed() {
			s.t.Logf("sandbox %d wrote:\n%s", i, sandbox.Logs())
		}
	}
	if !s.t.Failed() {
		return
	}
	for _, x := range s.proxy.Exchanges() {
		s.t.Logf("%d %s: %s, forwarded %d, status %d, answered %d %v",
			x.Number, x.Operation, x.Fault, x.Forwarded, x.Status, x.Answered, x.Err)
	}
}

// lease is how long a claim protects its key at most.
func (s *shop) lease() time.Duration { return s.timeout + margin }

// kill ends the processes of all sandboxes.
func (s *shop) kill() {
	s.t.Helper()
	for _, sandbox := range s.sandboxes {
		assert.NoError(s.t, sandbox.Kill())
	}
}

// closeIdle gives a client a transport whose connections do not outlive the test.
func closeIdle(t *testing.T) func(*dynamodb.Options) {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport} }
}
