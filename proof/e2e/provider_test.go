package e2e_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// provider is a payments provider and a stock, which are those of [services.Services], and answer
// 409 while the first request of a key runs. It finishes an effect whose client hangs up. A failure
// of its own is no answer that stays. It counts what it does: see charges, about and keys.
type provider struct {
	*httptest.Server

	services *services.Services
	t        *testing.T

	mu       sync.Mutex
	finished map[string]bool // by key, false while its first request runs
	requests []arrival
	// arrives is told of each request, before runs before the effect, after between the effect and
	// the answer; nil for nothing.
	arrives       func(route string)
	before, after func()
	// fails lets it answer 503 instead of acting: once if that is set, and at one route if that is.
	fails, once bool
	at          string
}

// The routes of the provider.
const (
	reserve = "POST /v1/reservations"
	charge  = "POST /v1/charges"
	cancel  = "DELETE /v1/reservations"
)

var routes = map[services.Kind]string{
	services.Reservation: reserve, services.Charge: charge, services.Cancellation: cancel,
}

// arrival is a request.
type arrival struct{ route, key string }

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{t: t, finished: make(map[string]bool)}
	p.services = services.New(p.pass)
	p.Server = httptest.NewServer(p.services)
	t.Cleanup(p.Close)
	return p
}

// pass hands a request to the service.
func (p *provider) pass(kind services.Kind, serve http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client hung up before it had asked
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	route, key := routes[kind], r.Header.Get("Idempotency-Key")
	finished, known := p.register(route, key)
	switch {
	case !known:
		p.serveFirst(route, key, serve, w, r)
	case finished:
		serve.ServeHTTP(w, r)
	default:
		w.WriteHeader(http.StatusConflict)
	}
}

// register takes note of a request and tells what is known of its key.
func (p *provider) register(route, key string) (finished, known bool) {
	p.mu.Lock()
	arrives := p.arrives
	p.mu.Unlock()
	if arrives != nil {
		arrives(route)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, arrival{route, key})
	finished, known = p.finished[key]
	p.finished[key] = finished
	return finished, known
}

func (p *provider) serveFirst(route, key string, serve http.Handler, w http.ResponseWriter, r *http.Request) {
	p.pause(&p.before)
	p.mu.Lock()
	fails := p.fails && (p.at == "" || p.at == route)
	if fails && p.once {
		p.fails = false
	}
	p.mu.Unlock()
	done := httptest.NewRecorder()
	if fails {
		done.WriteHeader(http.StatusServiceUnavailable)
	} else {
		serve.ServeHTTP(done, r)
	}
	p.mu.Lock()
	if p.finished[key] = true; fails {
		delete(p.finished, key)
	}
	p.mu.Unlock()
	p.pause(&p.after)
	maps.Copy(w.Header(), done.Header())
	w.WriteHeader(done.Code)
	_, _ = done.Body.WriteTo(w) // fails if the client is gone
}

func (p *provider) pause(hook *func()) {
	p.mu.Lock()
	f := *hook
	p.mu.Unlock()
	call(f)
}

// hold holds first requests before their effect, or their answers: hook is before or after.
func (p *provider) hold(hook *func()) *wire.Gate {
	gate := wire.NewGate()
	p.t.Cleanup(gate.Open) // before the server is closed, which waits for its requests
	p.mu.Lock()
	defer p.mu.Unlock()
	*hook = func() { gate.Wait(context.Background()) }
	return gate
}

// fail makes the provider fail, or ends that.
func (p *provider) fail(fails bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails, p.once, p.at = fails, false, ""
}

// failOnce makes it fail at the next request of a route, of any if it is empty.
func (p *provider) failOnce(route string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails, p.once, p.at = true, true, route
}

// charges are the effects so far; those of one amount unless that is 0.
func (p *provider) charges(amount int64) []services.Effect {
	return slices.DeleteFunc(p.services.Effects(""), func(e services.Effect) bool {
		return !e.Done || amount != 0 && e.Amount != amount
	})
}

// about are the effects so far of a route.
func (p *provider) about(route string) []services.Effect {
	return slices.DeleteFunc(p.charges(0), func(e services.Effect) bool { return routes[e.Kind] != route })
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
