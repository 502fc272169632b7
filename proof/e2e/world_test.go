package e2e_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/internal/testkit/services"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// patience is how long a client waits before it asks again, whatever Retry-After says.
const patience = 100 * time.Millisecond

// purchase is what a client sends until it has an answer. No two have the same key or amount.
type purchase struct {
	key    string
	amount int64
	source string
	// note is a text that comes back in the answer of a shop, and decides how large that is.
	note string
}

var purchases atomic.Int64

func newPurchase() purchase {
	return purchase{key: rand.Text(), amount: 1000 + purchases.Add(1), source: "tok_visa", note: "thanks"}
}

// request is a purchase at an HTTP API.
func (w *world) request(p purchase) *http.Request {
	path, body := "/orders", fmt.Sprintf(
		`{"sku":"A-1","quantity":2,"amount":%d,"currency":"usd","source":%q,"email":"a@example.com"}`, p.amount, p.source)
	if w.orders == "" {
		var members []string // a member of metadata holds 500 characters at most
		for part := range slices.Chunk([]byte(p.note), 500) {
			members = append(members, fmt.Sprintf(`"note%d":%q`, len(members), part))
		}
		path, body = "/charges", fmt.Sprintf(`{"amount":%d,"currency":"eur","source":%q,"metadata":{%s}}`, p.amount, p.source,
			strings.Join(members, ","))
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", p.key)
	return r
}

// answer is what a client sees.
type answer struct {
	status  int
	headers http.Header
	body    string
	// payload is the response of the function byte for byte.
	payload []byte
	// failure is set if there is none; the gateway makes it a 500.
	failure *lambdaruntime.FunctionError
}

func (a answer) ok() bool       { return a.status >= 200 && a.status < 300 }
func (a answer) replayed() bool { return a.headers.Get("Idempotent-Replayed") == "true" }

// final reports whether a client has no reason to ask again.
func (a answer) final() bool {
	return a.ok() || a.status >= 400 && a.status < 500 && a.status != http.StatusConflict
}

// says reports whether the answer is a problem of this name. An "unknown-outcome" is an execution
// whose result could not be stored: waiting changes nothing about it, and the test has to say
// whether it may be.
func (a answer) says(problem string) bool { return strings.Contains(a.body, "#"+problem) }

func (a answer) String() string {
	if a.failure != nil {
		return a.failure.Error()
	}
	return string(a.payload)
}

// unmarked is the answer without what was added to it for the client, and until when it says that
// it is replayed.
func (a answer) unmarked(t *testing.T) (expires string, response events.APIGatewayV2HTTPResponse) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.payload, &response))
	expires = response.Headers["Idempotency-Key-Expires"]
	delete(response.Headers, "Idempotency-Key-Expires")
	delete(response.Headers, "Idempotent-Replayed")
	return expires, response
}

// post sends a purchase once, to a free sandbox.
func (w *world) post(p purchase) (a answer) {
	w.t.Helper()
	request, got := w.request(p), httptest.NewRecorder()
	front := &lambdaruntime.Front{Route: "POST " + request.URL.Path}
	front.Invoke = func(ctx context.Context, event []byte) (_ []byte, err error) {
		a.payload, err = w.invoke(ctx, event)
		assert.True(w.t, err == nil || errors.As(err, &a.failure), err)
		return a.payload, err
	}
	front.ServeHTTP(got, request)
	a.status, a.headers, a.body = got.Code, got.Header(), got.Body.String()
	return a
}

// serves sends a purchase that is answered 201.
func (w *world) serves(p purchase) answer {
	w.t.Helper()
	a := w.post(p)
	require.Equal(w.t, http.StatusCreated, a.status, a)
	return a
}

// storeLimit is for how long a test waits for a store that does not answer in time.
const storeLimit = 2 * time.Minute

// insist sends a purchase until it has a final answer, and returns all answers. No key may stay
// blocked longer than the lease of the one who claimed it.
func (w *world) insist(p purchase) (all []answer) {
	w.t.Helper()
	began, limit := time.Now(), cmp.Or(w.limit, w.lease()+claimBudget+slack)
	for started := began; ; time.Sleep(patience) {
		a := w.post(p)
		all = append(all, a)
		if a.final() || a.says("unknown-outcome") {
			return all
		}
		if a.says("store-unavailable") && time.Since(began) < storeLimit {
			started = time.Now() // a machine that is too busy to answer says nothing about the key
		}
		if time.Since(started) > limit {
			assert.Fail(w.t, "the key is blocked", "%v has no final answer after %v, but %v", p, limit, a)
			return all
		}
	}
}

// assertProblem checks that the answer is a problem (RFC 9457), and returns for how long it tells
// the client to wait.
func (w *world) assertProblem(a answer, status int, name string) time.Duration {
	w.t.Helper()
	assert.Equal(w.t, status, a.status, a)
	assert.Equal(w.t, "application/problem+json", a.headers.Get("Content-Type"))
	assert.True(w.t, a.says(name), a)
	seconds, err := strconv.Atoi(a.headers.Get("Retry-After"))
	require.NoError(w.t, err, a)
	assert.Positive(w.t, seconds)
	return time.Duration(seconds) * time.Second
}

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
	d.proxy = startProxy(t, dynamotest.Endpoint(t))
	for range sandboxes {
		sandbox := &lambdaruntime.Sandbox{
			Bootstrap: filepath.Join(folder, path.Base(example)),
			Environment: append([]string{
				"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
				"AWS_ENDPOINT_URL_DYNAMODB=" + d.proxy.URL(),
			}, environment...),
		}
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
		sandbox.Close()
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
		sandbox.Timeout = d.timeout
		return sandbox.Invoke(ctx, payload)
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
		sandbox.Kill()
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
	services              services.Services
	network               *wire.Proxy
	table, orders, outbox string
	// limit is when a purchase must have its answer, if not at the end of the lease of another one.
	limit time.Duration
}

func newWorld(t *testing.T, sandboxes int, example string) *world {
	t.Helper()
	w := &world{
		dynamo: dynamolocal.Client(dynamotest.Endpoint(t), ofThisProcess), table: "e2e-" + rand.Text(),
	}
	require.NoError(t, dynamo.CreateTable(t.Context(), w.dynamo, w.table))
	if example == ordering {
		w.orders, w.outbox = w.table+"-orders", w.table+"-outbox"
		require.NoError(t, dynamolocal.CreateTable(t.Context(), w.dynamo, w.orders, "order_id"))
		require.NoError(t, outbox.CreateTable(t.Context(), w.dynamo, w.outbox))
	}
	server := httptest.NewServer(&w.services)
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
