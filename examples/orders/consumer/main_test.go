package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	const records = "IDEMPOTENCY_TABLE=table"
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set":                 nil,
		"SHIP_URL: ship: ":                             {records, "SHIP_URL=s3cret"},
		"SHIP_URL: it holds a user name or a password": {records, "SHIP_URL=https://user:s3cret@ship.example"},
		"SHIP_URL and SHIP_SECRET":                     {records, "SHIP_URL=https://ship.example", "SHIP_SECRET=arn"},
	} {
		deployed.RequireRefused(t, binary, says, environment...)
	}
}

// shipper is a service that ships.
type shipper struct {
	t   *testing.T
	URL string

	mu       sync.Mutex
	statuses map[string]int // by the id of the order, 200 by default
	asked    []string       // ids of orders
	keys     []string
	// begun gets the id of an order, if it is not nil, and the answer waits until go on is closed.
	begun chan string
	goOn  chan struct{}
}

func newShipper(t *testing.T) *shipper {
	t.Helper()
	s := &shipper{t: t, statuses: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// ServeHTTP implements [http.Handler].
func (s *shipper) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var placed struct {
		OrderID string `json:"order_id"`
	}
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client hung up
	}
	assert.NoError(s.t, json.Unmarshal(sent, &placed))
	s.mu.Lock()
	s.asked, s.keys = append(s.asked, placed.OrderID), append(s.keys, req.Header.Get("Idempotency-Key"))
	status := s.statuses[placed.OrderID]
	s.mu.Unlock()
	if s.begun != nil {
		s.begun <- placed.OrderID
		<-s.goOn
	}
	if status != 0 {
		w.WriteHeader(status)
	}
	fmt.Fprintf(w, `{"id":"sh_%s"}`, placed.OrderID)
}

func (s *shipper) answer(order string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[order] = status
}

// orders are those that were asked for since the last question, and their keys.
func (s *shipper) orders() (orders, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	orders, keys = s.asked, s.keys
	s.asked, s.keys = nil, nil
	return orders, keys
}

// newRecords makes a table of records of its own. The variable names it.
func newRecords(t *testing.T) (variable string) {
	t.Helper()
	table := "consumer-" + rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), dynamolocal.Client(dynamolocal.Endpoint(t)), table))
	return "IDEMPOTENCY_TABLE=" + table
}

// sample is the message of a sample event.
func sample(t *testing.T, file string) events.SQSMessage {
	t.Helper()
	text, err := os.ReadFile("events/" + file)
	require.NoError(t, err)
	var event events.SQSEvent
	require.NoError(t, json.Unmarshal(text, &event))
	return event.Records[0]
}

// of is a message like another one, of another order, with ids of its own.
func of(m events.SQSMessage, order string) events.SQSMessage {
	m.MessageId = "message-" + order
	m.Body = `{"order_id":"` + order + `","email":"a@example.com"}`
	key := m.MessageAttributes["Idempotency-Key"]
	text := "key-" + order
	key.StringValue = &text
	m.MessageAttributes = map[string]events.SQSMessageAttribute{"Idempotency-Key": key, "topic": m.MessageAttributes["topic"]}
	return m
}

// failed hands messages over, and returns the ids of those that have failed.
func failed(ctx context.Context, t *testing.T, function deployed.Invoker, messages ...events.SQSMessage) (ids []string) {
	t.Helper()
	payload, err := json.Marshal(events.SQSEvent{Records: messages})
	require.NoError(t, err)
	out, err := function.Invoke(ctx, payload)
	require.NoError(t, err)
	var answer struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	require.NoError(t, json.Unmarshal(out, &answer))
	require.NotNil(t, answer.BatchItemFailures, "%s: Lambda takes null for a success, too, but nobody else does", out)
	for _, f := range answer.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

func TestTheBinaryShipsEachOrderOnce(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"placed.json", "placed-fifo.json"} {
		s := newShipper(t)
		function := deployed.RunWithoutRecords(t, newRecords(t), "SHIP_URL="+s.URL)
		m := sample(t, file)
		again := m
		again.MessageId = "another" // the relay has delivered it twice
		for range 2 {
			require.Empty(t, failed(t.Context(), t, function, m, again), file)
			require.NoError(t, function.Kill(), "another process has to find the answer")
		}
		orders, keys := s.orders()
		require.Equal(t, []string{"9c2a7e54-1b3d-4f60-8a9b-c0d1e2f3a4b5"}, orders, file)
		require.Regexp(t, `^[0-9a-f-]{36}$`, keys[0])
	}
}

func TestOneFailureIsThatOfItsMessage(t *testing.T) {
	t.Parallel()
	s, m := newShipper(t), sample(t, "placed.json")
	function := deployed.RunWithoutRecords(t, newRecords(t), "SHIP_URL="+s.URL)
	batch := []events.SQSMessage{of(m, "fine"), of(m, "down"), of(m, "never"), of(m, "other")}
	batch[3].MessageAttributes = nil // poison
	s.answer("down", http.StatusServiceUnavailable)
	s.answer("never", http.StatusUnprocessableEntity)
	require.ElementsMatch(t, []string{"message-down", "message-other"}, failed(t.Context(), t, function, batch...))
	orders, keys := s.orders()
	require.ElementsMatch(t, []string{"fine", "down", "never"}, orders)
	key := keys[slices.Index(orders, "down")]

	s.answer("down", http.StatusOK)
	s.answer("never", http.StatusOK)
	require.Equal(t, []string{"message-other"}, failed(t.Context(), t, function, batch...))
	orders, keys = s.orders()
	require.Equal(t, []string{"down"}, orders, "the others are not asked for again")
	require.Equal(t, []string{key}, keys, "it is tried again with the same key")
	require.Contains(t, function.Logs(), "status 503")
	require.Contains(t, function.Logs(), `"an order is never shipped"`)
	require.Contains(t, function.Logs(), `"batch record"`, "the runbook searches for it")
	for _, metric := range []string{`"BatchRecordSucceeded":1,`, `"BatchRecordTerminal":1,`, `"BatchRecordPoison":1,`, `"BatchRecordFailed":1,`} {
		require.Contains(t, function.Logs(), metric)
	}
	for _, secret := range []string{"a@example.com", "key-fine", "key-down"} {
		require.NotContains(t, function.Logs(), secret)
	}
}

func TestAGroupOfAFIFOQueueStopsAtItsFirstFailure(t *testing.T) {
	t.Parallel()
	s, m := newShipper(t), sample(t, "placed-fifo.json")
	function := deployed.RunWithoutRecords(t, newRecords(t), "SHIP_URL="+s.URL)
	in := func(group, order string) events.SQSMessage {
		grouped := of(m, order)
		grouped.Attributes = map[string]string{"MessageGroupId": group, "MessageDeduplicationId": "key-" + order, "SequenceNumber": "1"}
		return grouped
	}
	batch := []events.SQSMessage{in("a", "1"), in("b", "2"), in("a", "3"), in("a", "4"), in("b", "5")}
	s.answer("3", http.StatusServiceUnavailable)
	require.ElementsMatch(t, []string{"message-3", "message-4"}, failed(t.Context(), t, function, batch...))
	orders, _ := s.orders()
	require.ElementsMatch(t, []string{"1", "2", "3", "5"}, orders)

	s.answer("3", http.StatusOK)
	require.Empty(t, failed(t.Context(), t, function, batch[2], batch[3]))
	orders, _ = s.orders()
	require.Equal(t, []string{"3", "4"}, orders)
}

// queue is as much of SQS as a visibility timeout needs.
type queue struct {
	mu    sync.Mutex
	calls []string
}

// ServeHTTP implements [http.Handler].
func (q *queue) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client hung up
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, req.Header.Get("X-Amz-Target")+" "+string(sent))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = io.WriteString(w, `{"Successful":[{"Id":"0"}],"Failed":[]}`)
}

func TestAMessageThatAnotherInvocationHasComesAgainWhenThatOneMustHaveEnded(t *testing.T) {
	t.Parallel()
	s, q, records := newShipper(t), &queue{}, newRecords(t)
	s.begun, s.goOn = make(chan string, 1), make(chan struct{})
	sqs := httptest.NewServer(q)
	t.Cleanup(sqs.Close)
	m := sample(t, "placed.json")
	environment := []string{
		records, "SHIP_URL=" + s.URL, "QUEUE_URL=" + sqs.URL + "/123456789012/idempotent-shipping", "AWS_ENDPOINT_URL_SQS=" + sqs.URL,
	}
	first, second := deployed.RunWithoutRecords(t, environment...), deployed.RunWithoutRecords(t, environment...)
	var running sync.WaitGroup
	running.Go(func() { assert.Empty(t, failed(context.WithoutCancel(t.Context()), t, first, m)) })
	<-s.begun
	require.Equal(t, []string{m.MessageId}, failed(t.Context(), t, second, m))
	close(s.goOn)
	running.Wait()

	require.Len(t, q.calls, 1)
	require.Contains(t, q.calls[0], "AmazonSQS.ChangeMessageVisibilityBatch ")
	require.Contains(t, q.calls[0], m.ReceiptHandle)
	require.Regexp(t, `"VisibilityTimeout":([1-9]|1[0-9]|2[0-9])\b`, q.calls[0], "the rest of a lease of 20 s and a margin")
	orders, _ := s.orders()
	require.Len(t, orders, 1)
}

func TestWithoutAURLTheBinaryCounts(t *testing.T) {
	t.Parallel()
	function := deployed.RunWithoutRecords(t, newRecords(t))
	require.Empty(t, failed(t.Context(), t, function, sample(t, "placed.json")))
	require.Contains(t, function.Logs(), "neither SHIP_URL nor SHIP_SECRET is set")
}
