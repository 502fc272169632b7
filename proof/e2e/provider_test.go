package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// provider is a payments provider and a stock: POST /v1/charges and the other routes with an
// Idempotency-Key. A key that comes back with the same request gets the first answer, with another
// one a 400, while its first request runs a 409. It finishes an effect whose client hangs up. It
// counts what it does: see charges, about and keys.
type provider struct {
	*httptest.Server

	mu       sync.Mutex
	known    map[string]*asked // by key
	requests []arrival
	effects  []effect
	// arrives is told of each request, before runs before the effect, after between the effect and
	// the answer; nil for nothing.
	arrives       func(route string)
	before, after func()
	// status is answered instead of acting, unless it is 0; once if that is set, and at one route
	// if that is.
	status int
	once   bool
	at     string
}

// The routes of the provider, and the beginning of the ids of what it makes there.
const (
	reserve = "POST /v1/reservations"
	charge  = "POST /v1/charges"
	cancel  = "DELETE /v1/reservations"
)

var prefixes = map[string]string{reserve: "rs_", charge: "ch_", cancel: "cn_"}

// declinedSource is the source that is always declined.
const declinedSource = "tok_chargeDeclined"

// arrival is a request.
type arrival struct{ route, key string }

// asked is what the provider knows of a key.
type asked struct {
	request  string
	finished bool
	status   int
	answer   string
}

// effect is money that moved, or something else that happened.
type effect struct {
	Route, ID, Key string
	Amount         int64
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{known: make(map[string]*asked)}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	route := routeOf(r)
	switch {
	case err != nil: // the client hung up before it had asked
	case prefixes[route] == "":
		http.NotFound(w, r)
	case key == "":
		refuse(w, http.StatusBadRequest, "no key")
	default:
		p.serveKey(w, route, key, r.URL.Path+" "+string(body), body)
	}
}

// routeOf is the method and the path without the id of what is cancelled.
func routeOf(r *http.Request) string {
	path := r.URL.Path
	if r.Method == http.MethodDelete {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return r.Method + " " + path
}

func (p *provider) serveKey(w http.ResponseWriter, route, key, request string, body []byte) {
	known, first := p.register(route, key, request)
	switch {
	case first:
		p.pause(&p.before)
		status, text := p.act(route, key, body)
		p.finish(key, status, text)
		p.pause(&p.after)
		reply(w, status, text)
	case known.request != request:
		refuse(w, http.StatusBadRequest, "the key was used for another request")
	case !known.finished:
		refuse(w, http.StatusConflict, "a request with this key is in progress")
	default:
		w.Header().Set("Idempotent-Replayed", "true")
		reply(w, known.status, known.answer)
	}
}

// register takes note of a request and returns what is known of its key.
func (p *provider) register(route, key, request string) (known asked, first bool) {
	p.mu.Lock()
	arrives := p.arrives
	p.mu.Unlock()
	if arrives != nil {
		arrives(route)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, arrival{route, key})
	if found, ok := p.known[key]; ok {
		return *found, false
	}
	p.known[key] = &asked{request: request}
	return asked{}, true
}

// act moves the money, or does what else the route is for.
func (p *provider) act(route, key string, body []byte) (status int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status := p.status; status != 0 && (p.at == "" || p.at == route) {
		if p.once {
			p.status = 0
		}
		return status, fmt.Sprintf(`{"error":"status %d"}`, status)
	}
	var sent struct {
		Amount int64
		Source string
	}
	if err := json.Unmarshal(body, &sent); err != nil && route != cancel {
		return http.StatusBadRequest, `{"error":"no JSON"}`
	}
	if sent.Source == declinedSource {
		return http.StatusPaymentRequired, `{"error":"declined"}`
	}
	e := effect{Route: route, ID: fmt.Sprintf("%s%d", prefixes[route], len(p.effects)+1), Key: key, Amount: sent.Amount}
	p.effects = append(p.effects, e)
	return http.StatusOK, fmt.Sprintf(`{"id":%q,"amount":%d,"currency":"eur","status":"succeeded"}`, e.ID, e.Amount)
}

// finish keeps the answer for the next request with the key. A failure of the provider itself is
// not kept.
func (p *provider) finish(key string, status int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status >= http.StatusInternalServerError {
		delete(p.known, key)
		return
	}
	known := p.known[key]
	known.finished, known.status, known.answer = true, status, text
}

func (p *provider) pause(hook *func()) {
	p.mu.Lock()
	f := *hook
	p.mu.Unlock()
	call(f)
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
	p.status, p.once, p.at = status, false, ""
}

// failOnce makes the provider fail at the next charge.
func (p *provider) failOnce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.once, p.at = http.StatusServiceUnavailable, true, ""
}

// failOnceAt makes it fail at the next request of a route.
func (p *provider) failOnceAt(route string) {
	p.failOnce()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = route
}

// charges are the effects so far; those of one amount unless that is 0.
func (p *provider) charges(amount int64) []effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.effects), func(e effect) bool { return amount != 0 && e.Amount != amount })
}

// about are the effects so far of a route.
func (p *provider) about(route string) []effect {
	return slices.DeleteFunc(p.charges(0), func(e effect) bool { return e.Route != route })
}

// keys are those of all requests so far, repetitions included.
func (p *provider) keys() []string { return p.keysOf("") }

// keysOf are those of a route, of all if it is empty.
func (p *provider) keysOf(route string) (keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if route == "" || r.route == route {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// distinctKeys are the same without repetitions.
func (p *provider) distinctKeys() []string {
	all := p.keys()
	slices.Sort(all)
	return slices.Compact(all)
}
