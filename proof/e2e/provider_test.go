package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// provider is a payments provider: POST /v1/charges with an Idempotency-Key. A key that comes back with the same body
// gets the first answer, with another one a 400, while its first request runs a 409. It finishes a charge whose client
// hangs up. It counts what it does: see charges and keys.
type provider struct {
	*httptest.Server

	mu       sync.Mutex
	payments map[string]*payment // by key
	requests []string            // the keys of all requests
	effects  []effect
	// before runs before the effect, after between the effect and the answer; nil for nothing.
	before, after func()
	// status is answered instead of charging, unless it is 0; once if that is set.
	status int
	once   bool
}

// payment is what the provider knows of a key.
type payment struct {
	body     string
	finished bool
	status   int
	answer   string
}

// effect is money that moved.
type effect struct {
	ID, Key string
	Amount  int64
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{payments: make(map[string]*payment)}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	switch {
	case err != nil: // the client hung up before it had asked
	case r.Method != http.MethodPost || r.URL.Path != "/v1/charges":
		http.NotFound(w, r)
	case key == "":
		refuse(w, http.StatusBadRequest, "no key")
	default:
		p.serveKey(w, key, string(body))
	}
}

func (p *provider) serveKey(w http.ResponseWriter, key, body string) {
	known, first := p.register(key, body)
	switch {
	case first:
		p.pause(&p.before)
		status, text := p.charge(key, body)
		p.finish(key, status, text)
		p.pause(&p.after)
		reply(w, status, text)
	case known.body != body:
		refuse(w, http.StatusBadRequest, "the key was used for another request")
	case !known.finished:
		refuse(w, http.StatusConflict, "a request with this key is in progress")
	default:
		w.Header().Set("Idempotent-Replayed", "true")
		reply(w, known.status, known.answer)
	}
}

// register takes note of a request and returns what is known of its key.
func (p *provider) register(key, body string) (known payment, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, key)
	if found, ok := p.payments[key]; ok {
		return *found, false
	}
	p.payments[key] = &payment{body: body}
	return payment{}, true
}

// charge moves the money.
func (p *provider) charge(key, body string) (status int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status := p.status; status != 0 {
		if p.once {
			p.status = 0
		}
		return status, fmt.Sprintf(`{"error":"status %d"}`, status)
	}
	e := effect{ID: fmt.Sprintf("ch_%d", len(p.effects)+1), Key: key}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return http.StatusBadRequest, `{"error":"no JSON"}`
	}
	p.effects = append(p.effects, e)
	return http.StatusCreated, fmt.Sprintf(`{"id":%q,"amount":%d,"currency":"eur","status":"succeeded"}`, e.ID, e.Amount)
}

// finish keeps the answer for the next request with the key. A failure of the provider itself is not kept.
func (p *provider) finish(key string, status int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status >= http.StatusInternalServerError {
		delete(p.payments, key)
		return
	}
	known := p.payments[key]
	known.finished, known.status, known.answer = true, status, text
}

func (p *provider) pause(hook *func()) {
	p.mu.Lock()
	f := *hook
	p.mu.Unlock()
	if f != nil {
		f()
	}
}

func refuse(w http.ResponseWriter, status int, why string) {
	reply(w, status, fmt.Sprintf(`{"error":%q}`, why))
}

func reply(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // fails if the client is gone
}

// holdBefore holds first requests before their effect.
func (p *provider) holdBefore(t *testing.T) *wire.Gate {
	t.Helper()
	return p.hold(t, &p.before)
}

// holdAfter holds the answers to first requests.
func (p *provider) holdAfter(t *testing.T) *wire.Gate {
	t.Helper()
	return p.hold(t, &p.after)
}

func (p *provider) hold(t *testing.T, hook *func()) *wire.Gate {
	t.Helper()
	gate := wire.NewGate()
	t.Cleanup(gate.Open) // before the server is closed, which waits for its requests
	p.mu.Lock()
	defer p.mu.Unlock()
	*hook = func() { gate.Wait(context.Background()) }
	return gate
}

// answerWith makes the provider refuse or fail; 0 ends that.
func (p *provider) answerWith(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.once = status, false
}

// failOnce makes the provider fail at the next charge.
func (p *provider) failOnce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.once = http.StatusServiceUnavailable, true
}

// charges are the effects so far; those of one amount unless that is 0.
func (p *provider) charges(amount int64) []effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.effects), func(e effect) bool { return amount != 0 && e.Amount != amount })
}

// keys are those of all requests so far, repetitions included.
func (p *provider) keys() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// distinctKeys are the same without repetitions.
func (p *provider) distinctKeys() []string {
	all := p.keys()
	slices.Sort(all)
	return slices.Compact(all)
}
