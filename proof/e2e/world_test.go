package e2e_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/outbox"
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

// deployment is a function in its sandboxes, and the network to DynamoDB.
type deployment struct {
	t     *testing.T
	proxy *wire.Proxy
	// timeout is that of the function.
	timeout time.Duration
	// sandboxes are all, free those without an invocation.
	sandboxes []*lambdaruntime.Sandbox
	free      chan *lambdaruntime.Sandbox
}

// deploy deploys a function with a timeout that no scenario reaches by accident.
func deploy(t *testing.T, sandboxes int, example string, environment ...string) *deployment {
	t.Helper()
	d := &deployment{t: t, timeout: 20 * time.Second, free: make(chan *lambdaruntime.Sandbox, sandboxes)}
	d.proxy = startProxy(t, dynamolocal.Endpoint(t))
	name := path.Base(example)
	for range sandboxes {
		sandbox := lambdaruntime.NewSandbox(lambdaruntime.Function{
			Name: name, Bootstrap: filepath.Join(folder, name),
			Environment: append([]string{
				"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
				"AWS_ENDPOINT_URL_DYNAMODB=" + d.proxy.URL(),
			}, environment...),
		})
		d.sandboxes = append(d.sandboxes, sandbox)
		d.free <- sandbox
	}
	t.Cleanup(d.close)
	return d
}

func startProxy(t *testing.T, endpoint string) *wire.Proxy {
	t.Helper()
	proxy, err := wire.Start(endpoint)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}

// close ends the sandboxes, and tells what was seen if the test has failed.
func (d *deployment) close() {
	for i, sandbox := range d.sandboxes {
		assert.NoError(d.t, sandbox.Close())
		if d.t.Failed() {
			d.t.Logf("sandbox %d wrote:\n%s", i, sandbox.Logs())
		}
	}
	if !d.t.Failed() {
		return
	}
	for _, x := range d.proxy.Exchanges() {
		d.t.Logf("%d %s: %s, forwarded %d, status %d, answered %d %v",
			x.Number, x.Operation, x.Fault, x.Forwarded, x.Status, x.Answered, x.Err)
	}
}

// invoke hands an event to a free sandbox.
func (d *deployment) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	select {
	case sandbox := <-d.free:
		defer func() { d.free <- sandbox }()
		return sandbox.Invoke(ctx, payload, d.timeout)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// lease is how long a claim protects its key at most.
func (d *deployment) lease() time.Duration { return d.timeout + margin }

// kill ends the processes of all sandboxes.
func (d *deployment) kill() {
	d.t.Helper()
	for _, sandbox := range d.sandboxes {
		assert.NoError(d.t, sandbox.Kill())
	}
}

// kills are the moments of a call at which a function is killed: before it is served, after it, and
// while it is still on its way.
var kills = map[string]func(wire.Until) wire.Fault{
	"before":     func(kill wire.Until) wire.Fault { return wire.Hold(kill, wire.LoseRequest()) },
	"after":      wire.DelayReply,
	"on its way": wire.DelayRequest,
}

// killed is a fault that kills the function.
func (d *deployment) killed(moment string) wire.Fault {
	return kills[moment](func(context.Context) { d.kill() })
}

// freeze stops the process of a sandbox where it stands, as Lambda does between invocations, and
// waits until all of its threads have stopped: a signal takes a moment to reach them. During an
// invocation the deadline goes on.
func (d *deployment) freeze() {
	d.t.Helper()
	pid := d.sandboxes[0].PID()
	require.NoError(d.t, syscall.Kill(pid, syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
	require.NoError(d.t, err)
	require.True(d.t, status.Stopped(), "the process has ended instead")
}

// world is a function that serves purchases: a shop, or a warehouse, which has the table of the
// orders and that of the messages that leave with them, too. The services that they ask are one
// server, with a network in front of it.
type world struct {
	*deployment

	dynamo                *dynamodb.Client // past the proxy
	services              *services.Services
	network               *wire.Proxy
	table, orders, outbox string
	// limit is when a purchase must have its answer, if not at the end of the lease of another one.
	limit time.Duration
}

func newWorld(t *testing.T, sandboxes int, example string) *world {
	t.Helper()
	w := &world{
		dynamo: dynamolocal.Client(dynamolocal.Endpoint(t), ofThisProcess), table: "e2e-" + rand.Text(),
	}
	require.NoError(t, dynamo.CreateTable(t.Context(), w.dynamo, w.table))
	if example == ordering {
		w.orders, w.outbox = w.table+"-orders", w.table+"-outbox"
		require.NoError(t, dynamolocal.CreateTable(t.Context(), w.dynamo, w.orders, "order_id"))
		require.NoError(t, outbox.CreateTable(t.Context(), w.dynamo, w.outbox))
	}
	w.services = services.New(func(_ services.Kind, serve http.Handler, rw http.ResponseWriter, r *http.Request) {
		serve.ServeHTTP(rw, r)
	})
	server := httptest.NewServer(w.services)
	t.Cleanup(server.Close)
	w.network = startProxy(t, server.URL)
	w.deployment = deploy(t, sandboxes, example, w.environment()...)
	return w
}

func (w *world) environment() []string {
	return []string{
		"IDEMPOTENCY_TABLE=" + w.table, "ORDERS_TABLE=" + w.orders, "OUTBOX_TABLE=" + w.outbox, "OPERATION=" + ordering,
		"PAYMENTS_URL=" + w.network.URL(), "STOCK_URL=" + w.network.URL(), "MAIL_URL=" + w.network.URL(),
	}
}

// The routes of the services.
const (
	reserve = "POST /v1/reservations"
	charge  = "POST /v1/charges"
	cancel  = "DELETE /v1/reservations"
	mail    = "POST /v1/messages"
)

var routes = map[services.Kind]string{
	services.Reservation: reserve, services.Charge: charge, services.Cancellation: cancel, services.Message: mail,
}

// requests are those of a route that were sent, of all if it is empty.
func (w *world) requests(route string) (all []wire.Exchange) {
	for _, x := range w.network.Exchanges() {
		if strings.HasPrefix(x.Operation, route) {
			all = append(all, x)
		}
	}
	return all
}

// askedFor is how often the services were asked on each route.
func (w *world) askedFor() map[string]int {
	counts := map[string]int{}
	for _, route := range []string{reserve, charge, cancel} {
		if n := len(w.requests(route)); n > 0 {
			counts[route] = n
		}
	}
	return counts
}

// effects are those of a kind, whether the service acted or refused.
func (w *world) effects(kind services.Kind) (all []services.Effect) {
	for _, e := range w.services.Effects("") {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// holdCharge sends a purchase and holds the reply to its charge, until open or the end of the test.
func (w *world) holdCharge(p purchase) (first <-chan answer, open func()) {
	w.t.Helper()
	gate, result := wire.NewGate(), make(chan answer, 1)
	w.t.Cleanup(gate.Open)
	w.network.SetRule(wire.On(charge, 1, wire.DelayReply(gate.Wait)))
	go func() { result <- w.post(p) }()
	select {
	case <-gate.Arrived():
	case a := <-result:
		require.FailNow(w.t, "nobody came to the gate", a)
	}
	return result, gate.Open
}
