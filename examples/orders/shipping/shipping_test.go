package shipping_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/examples/orders/shipping"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/storetest"
)

// request is what the service was asked for.
type request struct{ What, Key, Body string }

// service ships, or answers with a status.
type service struct {
	status   int
	answer   string
	requests []request
}

// ServeHTTP implements [http.Handler].
func (s *service) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client hung up
	}
	s.requests = append(s.requests, request{req.Method + " " + req.URL.Path, req.Header.Get("Idempotency-Key"), string(sent)})
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.answer)
}

// newHandler returns the handler in a process of its own, with the records of all processes.
func newHandler(t *testing.T, s *service, records *memory.Store) *shipping.Handler {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	there, err := shipping.NewService(server.URL)
	require.NoError(t, err)
	return shipping.Wrap(there, records, "shipping")
}

// placed is the message of a sample event.
func placed(t *testing.T, file string) events.SQSMessage {
	t.Helper()
	text, err := os.ReadFile("../consumer/events/" + file)
	require.NoError(t, err)
	var event events.SQSEvent
	require.NoError(t, json.Unmarshal(text, &event))
	require.Len(t, event.Records, 1)
	return event.Records[0]
}

func TestAnOrderIsShippedOnceHoweverOftenItsMessageComes(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"placed.json", "placed-fifo.json"} {
		s, records := &service{status: 200, answer: `{"id":"sh_1"}`}, memory.New()
		m := placed(t, file)
		for _, id := range []string{m.MessageId, m.MessageId, "another"} { // the relay delivers again, with another message id
			m.MessageId, m.ReceiptHandle = id, "another"
			shipment, err := newHandler(t, s, records).Handle(t.Context(), m)
			require.NoError(t, err)
			require.Equal(t, "sh_1", shipment)
		}
		require.Len(t, s.requests, 1, file)
		require.Equal(t, "POST /v1/shipments", s.requests[0].What)
		require.JSONEq(t, m.Body, s.requests[0].Body)
		require.Regexp(t, `^[0-9a-f-]{36}$`, s.requests[0].Key)
		require.NotEqual(t, *m.MessageAttributes["Idempotency-Key"].StringValue, s.requests[0].Key, "a key of its own")
	}
}

func TestWhatTheServiceWillNeverShipIsAFinalFailure(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 410, 422} {
		s, records := &service{status: status, answer: "secret"}, memory.New()
		for range 2 {
			out := handle(t, newHandler(t, s, records), placed(t, "placed.json"))
			require.Equal(t, batch.Terminal, out.Outcome, status)
			require.NotContains(t, out.Err.Error(), "secret")
			s.status, s.answer = 200, `{"id":"sh_1"}` // it is not asked again
		}
		require.Len(t, s.requests, 1)
	}
}

func TestAnyOtherFailureIsTriedAgainWithTheSameKey(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 401, 403, 408, 409, 429, 500, 502, 503} {
		s, records := &service{status: status, answer: "secret"}, memory.New()
		require.Equal(t, batch.Failed, handle(t, newHandler(t, s, records), placed(t, "placed.json")).Outcome, status)
		s.status, s.answer = 200, `{"id":"sh_1"}`
		shipment, err := newHandler(t, s, records).Handle(t.Context(), placed(t, "placed.json"))
		require.NoError(t, err)
		require.Equal(t, "sh_1", shipment)
		require.Len(t, s.requests, 2)
		require.Equal(t, s.requests[0], s.requests[1])
	}
	misunderstood := &service{status: 200, answer: "{}"}
	require.Equal(t, batch.Failed, handle(t, newHandler(t, misunderstood, memory.New()), placed(t, "placed.json")).Outcome)
}

func TestAMessageThatIsNoneIsPoison(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*events.SQSMessage){
		"no key":   func(m *events.SQSMessage) { delete(m.MessageAttributes, "Idempotency-Key") },
		"no order": func(m *events.SQSMessage) { m.Body = `{"email":"a@example.com"}` },
		"no JSON":  func(m *events.SQSMessage) { m.Body = "a@example.com" },
	} {
		s := &service{status: 200, answer: `{"id":"sh_1"}`}
		m := placed(t, "placed.json")
		spoil(&m)
		out := handle(t, newHandler(t, s, memory.New()), m)
		require.Equal(t, batch.Poison, out.Outcome, name)
		require.NotContains(t, out.Err.Error(), "a@example.com")
		require.Empty(t, s.requests, name)
	}
}

// Two orders that share a key are a mistake of whoever sends them.
func TestAnotherOrderWithTheSameKeyIsPoison(t *testing.T) {
	t.Parallel()
	s, records := &service{status: 200, answer: `{"id":"sh_1"}`}, memory.New()
	h, m := newHandler(t, s, records), placed(t, "placed.json")
	_, err := h.Handle(t.Context(), m)
	require.NoError(t, err)
	m.Body = `{"order_id":"another","email":"a@example.com"}`
	_, err = h.Handle(t.Context(), m)
	require.ErrorIs(t, err, idempotent.ErrMismatch)
	require.Len(t, s.requests, 1)
}

// A message that comes from the dead-letter queue after its 14 days was in the queue before.
func TestAnOrderIsNotShippedAgainWhenItsMessageIsAsOldAsAMessageCanBe(t *testing.T) {
	t.Parallel()
	s, now := &service{status: 200, answer: `{"id":"sh_1"}`}, time.Now()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	there, err := shipping.NewService(server.URL)
	require.NoError(t, err)
	h := shipping.Wrap(there, memory.New(), "shipping", idempotent.WithClock(func() time.Time { return now }))
	for range 2 {
		_, err := h.Handle(t.Context(), placed(t, "placed.json"))
		require.NoError(t, err)
		now = now.Add(28 * 24 * time.Hour)
	}
	require.Len(t, s.requests, 1)
}

// The service knows a shipment that it has made, so a result that the store does not take blocks nothing.
func TestAResultThatCannotBeStoredIsNoOutcomeThatSomebodyHasToSettle(t *testing.T) {
	t.Parallel()
	s := &service{status: 200, answer: `{"id":"sh_1"}`}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	there, err := shipping.NewService(server.URL)
	require.NoError(t, err)
	records, now := memory.New(), time.Now()
	refused := false
	refuse := func(c storetest.Call) storetest.Fault {
		if refused || c.Op != storetest.OpSwap {
			return storetest.Pass
		}
		refused = true
		return storetest.Deny
	}
	clock := idempotent.WithClock(func() time.Time { return now })
	_, err = shipping.Wrap(there, storetest.NewFaulty(records, refuse), "shipping", clock).Handle(t.Context(), placed(t, "placed.json"))
	require.NoError(t, err)
	now = now.Add(time.Hour)
	_, err = shipping.Wrap(there, records, "shipping", clock).Handle(t.Context(), placed(t, "placed.json"))
	require.NoError(t, err)
	require.Len(t, s.requests, 2)
	require.Equal(t, s.requests[0], s.requests[1])
}

// handle hands a message over as a batch, and returns what became of it.
func handle(t *testing.T, h *shipping.Handler, m events.SQSMessage) batch.Problem {
	t.Helper()
	var report batch.Report
	_, err := batch.SQS(h, batch.WithObserver(func(_ context.Context, r batch.Report) { report = r }))(t.Context(), events.SQSEvent{Records: []events.SQSMessage{m}})
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	return report.Problems[0]
}
