package mailtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/orders/order"
)

// Queue is as much of SQS as the sending of a message needs. It remembers what was sent.
type Queue struct {
	Endpoint string

	t       *testing.T
	mu      sync.Mutex
	refuses bool
	sent    []sent
}

// sent is the request of a message.
type sent struct {
	QueueURL          string `json:"QueueUrl"`
	MessageBody       string
	MessageAttributes map[string]struct{ StringValue string }
	// Of a FIFO queue only.
	MessageGroupID         string `json:"MessageGroupId"`
	MessageDeduplicationID string `json:"MessageDeduplicationId"`
}

// NewQueue starts one.
func NewQueue(t *testing.T) *Queue {
	t.Helper()
	q := &Queue{t: t}
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	q.Endpoint = server.URL
	return q
}

// URL is that of the queue of a name.
func (q *Queue) URL(name string) string { return q.Endpoint + "/123456789012/" + name }

// Refuse lets the queue fail from now on.
func (q *Queue) Refuse() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refuses = true
}

// ServeHTTP implements [http.Handler].
func (q *Queue) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client hung up
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	assert.Equal(q.t, "AmazonSQS.SendMessage", req.Header.Get("X-Amz-Target"))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if q.refuses {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var m sent
	assert.NoError(q.t, json.Unmarshal(text, &m))
	q.sent = append(q.sent, m)
	_, _ = io.WriteString(w, `{"MessageId":"2e1424d4-f796-459a-8184-9c92662be6da"}`)
}

// RequireSent checks that the sample message was sent once, to the queue of a name.
func (q *Queue) RequireSent(t *testing.T, name string, inOrder bool) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	require.Len(t, q.sent, 1)
	m := q.sent[0]
	require.Equal(t, q.URL(name), m.QueueURL)
	require.JSONEq(t, Body, m.MessageBody)
	require.Equal(t, ID, m.MessageAttributes["Idempotency-Key"].StringValue)
	require.Equal(t, order.PlacedTopic, m.MessageAttributes["topic"].StringValue)
	if inOrder {
		require.Equal(t, []string{ID, ID}, []string{m.MessageGroupID, m.MessageDeduplicationID})
	} else {
		require.Empty(t, m.MessageGroupID+m.MessageDeduplicationID)
	}
}
