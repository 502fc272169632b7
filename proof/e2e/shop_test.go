package e2e_test

import (
	"crypto/rand"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
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

// deployment is a function in its sandboxes, its table of records, if it has one, and the network
// to DynamoDB.
type deployment struct {
	t      *testing.T
	proxy  *wire.Proxy
	table  string
	dynamo *dynamodb.Client // past the proxy
	// timeout is that of the function.
	timeout time.Duration
	// sandboxes are all, free those without an invocation.
	sandboxes []*lambdaruntime.Sandbox
	free      chan *lambdaruntime.Sandbox
}

// deploy deploys a function that has records.
func deploy(t *testing.T, sandboxes int, example string, function lambdaruntime.Function) *deployment {
	t.Helper()
	table := "e2e-" + rand.Text()
	function.Environment = append(function.Environment, "IDEMPOTENCY_TABLE="+table)
	d := launch(t, sandboxes, example, function)
	d.table = table
	require.NoError(t, dynamo.CreateTable(t.Context(), d.dynamo, d.table))
	return d
}

// launch deploys a function with a timeout that no scenario reaches by accident.
func launch(t *testing.T, sandboxes int, example string, function lambdaruntime.Function) *deployment {
	t.Helper()
	endpoint := platform.endpoint(t)
	d := &deployment{
		t:       t,
		dynamo:  dynamolocal.Client(endpoint, closeIdle(t)),
		timeout: 20 * time.Second,
		free:    make(chan *lambdaruntime.Sandbox, sandboxes),
	}
	d.proxy = startProxy(t, endpoint)

	function.Bootstrap = filepath.Join(folder, filepath.Base(example))
	function.Environment = append(function.Environment,
		"AWS_ACCESS_KEY_ID="+dynamolocal.AccessKey,
		"AWS_SECRET_ACCESS_KEY="+dynamolocal.AccessKey,
		"AWS_ENDPOINT_URL_DYNAMODB="+d.proxy.URL())
	for range sandboxes {
		sandbox := lambdaruntime.NewSandbox(function)
		d.sandboxes = append(d.sandboxes, sandbox)
		d.free <- sandbox
	}
	t.Cleanup(d.close)
	return d
}

func startProxy(t *testing.T, endpoint string) *wire.Proxy {
	t.Helper()
	proxy, err := wire.Start(endpoint, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
	return proxy
}

// shop is a deployment of the function that charges, and the payments provider.
type shop struct {
	*deployment

	provider *provider
}

func newShop(t *testing.T, sandboxes int) *shop {
	t.Helper()
	p := newProvider(t)
	return &shop{deploy(t, sandboxes, charging, lambdaruntime.Function{
		Name: "charge", Environment: []string{"PAYMENTS_URL=" + p.URL},
	}), p}
}

// close ends the sandboxes, and tells what was seen if the test has failed.
func (s *deployment) close() {
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
func (s *deployment) lease() time.Duration { return s.timeout + margin }

// kill ends the processes of all sandboxes.
func (s *deployment) kill() {
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
