package e2e_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// receiver gets messages: POST /v1/messages with an Idempotency-Key. It counts what comes, and
// knows what one would have that takes each key once. It keeps a message before it answers.
type receiver struct {
	*httptest.Server

	t  *testing.T
	mu sync.Mutex
	// came counts the requests by key, took those of them that it has kept, whoever got the answer.
	came, took map[string]int
	// bodies are those of the keys that it has kept.
	bodies map[string]string
	// refuse decides whether it refuses a request of an order, before everything else; nil refuses
	// none.
	refuse func(order string, nth int) bool
	// before and after run in front of keeping a message, and between that and the answer; nil for
	// nothing.
	before, after func()
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, came: map[string]int{}, took: map[string]int{}, bodies: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the relay hung up
	}
	var sent placed
	key := req.Header.Get("Idempotency-Key")
	assert.NoError(r.t, json.Unmarshal(body, &sent))
	assert.Equal(r.t, "POST /v1/messages", req.Method+" "+req.URL.Path)
	assert.NotEmpty(r.t, key)
	if r.refuses(key, sent.OrderID) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	call(r.before)
	r.keep(key, string(body))
	call(r.after)
	w.WriteHeader(http.StatusAccepted)
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// refuses counts a request.
func (r *receiver) refuses(key, order string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.came[key]++
	return r.refuse != nil && r.refuse(order, r.came[key])
}

func (r *receiver) keep(key, body string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took[key]++
	if first, again := r.bodies[key]; again {
		assert.Equal(r.t, first, body, "the same id with another body")
	}
	r.bodies[key] = body
}

// kept are the messages, by key.
func (r *receiver) kept() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.bodies)
}

// requests counts the requests, and deliveries those of them that were kept.
func (r *receiver) requests() int   { return r.sum(&r.came) }
func (r *receiver) deliveries() int { return r.sum(&r.took) }

func (r *receiver) sum(counts *map[string]int) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, count := range *counts {
		n += count
	}
	return n
}

// heal ends all refusals.
func (r *receiver) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = nil
}
