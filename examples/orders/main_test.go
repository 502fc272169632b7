package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/orders/shop"
	"github.com/go-idempotent/idempotent/idempotenttest"
	"github.com/go-idempotent/idempotent/outbox"
)

// services are the stock and the payments of a test. They answer with a status at a path.
type services struct {
	orders

	status   map[string]int
	requests []string
}

func newServices(t *testing.T) *services {
	t.Helper()
	s := &services{status: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Len(t, r.Header.Get("Idempotency-Key"), 36)
		s.requests = append(s.requests, r.Method+" "+r.URL.EscapedPath()+" "+string(body))
		if status := s.status[r.Method+" "+r.URL.Path]; status != 0 {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, `{"id":"id/1"}`)
	}))
	t.Cleanup(server.Close)
	url := shop.Service(server.URL + "/base")
	s.orders = orders{table: "orders", outbox: outbox.New("outbox"), stock: url, payments: url}
	return s
}

const (
	reserve = `POST /base/v1/reservations {"sku":"A-1","quantity":2}`
	charge  = `POST /base/v1/charges {"amount":1999,"currency":"usd","source":"tok_visa"}`
	cancel  = `DELETE /base/v1/reservations/id%2F1 `
)

// place sends the event in events/order.json.
func (s *services) place(t *testing.T, config ...idempotenttest.Config) (shop.Response,
	[]idempotenttest.Commit, error,
) {
	t.Helper()
	text, err := os.ReadFile("events/order.json")
	require.NoError(t, err)
	var e shop.Request
	require.NoError(t, json.Unmarshal(text, &e))
	ctx := idempotenttest.Context(t, config...)
	out, err := s.orders.place(ctx, e)
	return out, idempotenttest.Commits(ctx), err
}

func TestAnOrderIsReservedChargedAndCommitted(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	out, commits, err := s.place(t)
	require.NoError(t, err)
	assert.Equal(t, http.StatusCreated, out.StatusCode, out.Body)
	assert.Equal(t, []string{reserve, charge}, s.requests)
	require.Len(t, commits, 1)
}

func TestADeclinedPaymentCancelsTheReservation(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	s.status["POST /base/v1/charges"] = http.StatusPaymentRequired
	out, commits, err := s.place(t)
	require.NoError(t, err)
	assert.Equal(t, http.StatusPaymentRequired, out.StatusCode)
	assert.Equal(t, []string{reserve, charge, cancel}, s.requests)
	assert.Empty(t, commits)
}

func TestAFailedServiceIsABadGateway(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"POST /base/v1/reservations", "POST /base/v1/charges"} {
		s := newServices(t)
		s.status[path] = http.StatusServiceUnavailable
		out, commits, err := s.place(t)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadGateway, out.StatusCode, path)
		assert.Empty(t, commits)
	}
}

// order is a valid order but for a field, which comes last and so counts.
func order(field string) string {
	return `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"s","email":"a@b",` + field + `}`
}

func TestAnInvalidOrderReachesNobody(t *testing.T) {
	t.Parallel()
	const object = "the body must be a JSON object"
	for body, says := range map[string]string{
		`[]`: object, `null`: object, `{}x`: object, `{"SKU":"A-1","zero":1}`: `the field \"SKU\" is unknown`,
		order(`"sku":""`):         "sku must be a non-empty string",
		order(`"quantity":0`):     "quantity must be a positive integer.",
		order(`"amount":1.5`):     "in the smallest unit of the currency",
		order(`"currency":"USD"`): "three lower-case letters",
		order(`"source":7`):       "source must be a non-empty string",
		order(`"email":"no"`):     "email must be an address",
	} {
		s := newServices(t)
		out, err := s.orders.place(idempotenttest.Context(t), shop.Request{RouteKey: "POST /orders", Body: body})
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, out.StatusCode, body)
		assert.Contains(t, out.Body, "The request is invalid: ")
		assert.Contains(t, out.Body, says)
		assert.Empty(t, s.requests)
	}
}

func TestAnotherPathOrMethodIsNoOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{{"POST", "/refunds", 404, ""}, {"PUT", "/orders", 405, "POST"}, {"POST", "/orders", 400, ""}} {
		var e shop.Request
		e.RequestContext.HTTP.Method, e.RawPath = c.method, c.path
		s := newServices(t)
		out, err := s.orders.place(idempotenttest.Context(t), e)
		require.NoError(t, err)
		assert.Equal(t, c.status, out.StatusCode, c.path)
		assert.Equal(t, c.allow, out.Headers["Allow"])
		assert.Empty(t, s.requests)
	}
}

func TestWithoutServicesAnOrderIsCounted(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	s.stock, s.payments = "", ""
	out, commits, err := s.place(t)
	require.NoError(t, err)
	assert.Equal(t, http.StatusCreated, out.StatusCode, out.Body)
	assert.Contains(t, out.Body, `"reservation_id":"rs_`)
	assert.Contains(t, out.Body, `"charge_id":"ch_`)
	assert.Len(t, commits, 1)
	declining := map[string]string{"source": "tok_chargeDeclined"}
	_, err = shop.Service("").Do(t.Context(), http.MethodPost, "v1/charges", "k", declining)
	var declined *shop.Error
	require.ErrorAs(t, err, &declined)
	assert.Equal(t, http.StatusPaymentRequired, declined.Status)
}
