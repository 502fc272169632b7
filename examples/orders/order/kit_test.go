package order_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/store"
)

const (
	body     = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}`
	declined = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_chargeDeclined","email":"a@example.com"}`
)

// post is the event of POST /orders.
func post(key, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: order.Route, RawPath: "/orders",
		Headers: map[string]string{"content-type": "application/json", "idempotency-key": key}, Body: body,
	}
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = http.MethodPost, "/orders"
	return e
}

// asked is a request to a service.
type asked struct{ what, key, mediaType, body string }

// failing are requests that fail.
type failing struct {
	what    string // the method and the beginning of the path
	failure http.HandlerFunc
	acts    bool // the effect happens all the same
}

// town has the two services, each at an address of its own. It remembers what they were asked, and lets one of them fail.
type town struct {
	*counting.Services

	t *testing.T
	// urls are the addresses, by name.
	urls map[string]string
	// tables are those of the orders, if they have some.
	tables order.Tables

	mu       sync.Mutex
	requests []asked
	failures []failing
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{Services: counting.New(), t: t, urls: map[string]string{}}
	for _, name := range []string{order.StockName, order.PaymentsName} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) { w.serve(name, rw, req) }))
		t.Cleanup(server.Close)
		w.urls[name] = server.URL
	}
	return w
}

func (w *town) serve(name string, rw http.ResponseWriter, req *http.Request) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client hung up
	}
	what := req.Method + " " + req.URL.Path
	w.mu.Lock()
	w.requests = append(w.requests, asked{name + " " + what, req.Header.Get("Idempotency-Key"), req.Header.Get("Content-Type"), string(sent)})
	failures := w.failures
	w.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(sent))
	for _, f := range failures {
		if !strings.HasPrefix(what, f.what) {
			continue
		}
		if f.acts {
			w.ServeHTTP(httptest.NewRecorder(), req)
		}
		f.failure(rw, req)
		return
	}
	w.ServeHTTP(rw, req)
}

// fail lets requests fail that begin in this way, until all are healed.
func (w *town) fail(what string, failure http.HandlerFunc, acts bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, failing{what, failure, acts})
}

func (w *town) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = nil
}

// about are the requests so far that begin in this way, such as "STOCK POST".
func (w *town) about(what string) (found []asked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if strings.HasPrefix(r.what, what) {
			found = append(found, r)
		}
	}
	return found
}

func (w *town) services() order.Services {
	w.t.Helper()
	services, err := order.Connect(func(name string) (*downstream.Client, error) {
		return downstream.New(strings.ToLower(name), w.urls[name], order.Timeout)
	})
	require.NoError(w.t, err)
	return services
}

// done counts the effects of each kind: reservations, charges, messages, cancellations.
func (w *town) done() (counts [4]int) {
	for i, kind := range counting.Kinds() {
		counts[i] = w.Done(kind)
	}
	return counts
}

// function is the wrapped handler in one sandbox.
type function struct {
	t       *testing.T
	timeout time.Duration
	last    *idempotent.Event
	handler *idempotent.Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]
}

func newFunction(t *testing.T, w *town, s store.Store, opts ...idempotent.Option) *function {
	t.Helper()
	f := &function{t: t, timeout: 10 * time.Second, last: &idempotent.Event{}}
	observer := idempotent.WithObserver(func(_ context.Context, e idempotent.Event) { *f.last = e })
	f.handler = idempotent.Wrap(order.Handler(w.services(), w.tables), s, append(opts, order.Effects(), observer)...)
	return f
}

// invoke delivers an event as Lambda does: as bytes, with a deadline.
func (f *function) invoke(e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), f.timeout)
	defer cancel()
	payload, err := json.Marshal(e)
	require.NoError(f.t, err)
	result, err := f.handler.Invoke(ctx, payload)
	var out events.APIGatewayV2HTTPResponse
	if err == nil {
		require.NoError(f.t, json.Unmarshal(result, &out))
	}
	return out, err
}

// answers delivers an event, and checks the status.
func (f *function) answers(status int, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	f.t.Helper()
	out, err := f.invoke(e)
	require.NoError(f.t, err)
	require.Equal(f.t, status, out.StatusCode, out.Body)
	return out
}

func replayed(out events.APIGatewayV2HTTPResponse) bool {
	return out.Headers["Idempotent-Replayed"] == "true"
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// silence answers nothing until the client has gone.
func silence(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }

// detail is what a problem document tells.
func detail(t *testing.T, out events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	require.Equal(t, "application/problem+json", out.Headers["Content-Type"])
	var document struct {
		Title  string
		Status int
		Detail string
	}
	require.NoError(t, json.Unmarshal([]byte(out.Body), &document))
	require.Equal(t, out.StatusCode, document.Status)
	require.NotEmpty(t, document.Title)
	return document.Detail
}
