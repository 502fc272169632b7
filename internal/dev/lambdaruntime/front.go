package lambdaruntime

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Front puts HTTP in front of a function, as an API Gateway HTTP API with payload format 2.0 does:
// each request becomes an event, and the result of the function becomes the answer. Its fields must
// not change after the first request.
//
// What differs from AWS: there are no authorizers, no CORS and no path variables.
//
// See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
type Front struct {
	// Invoke invokes the function. That the client goes away does not reach it.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)
	// Routes are the API's, such as "POST /charges". Any other request has the route $default.
	Routes []string
}

// ServeHTTP turns the request into an event and the function's response into the answer. Where
// there is no such response, the client gets what API Gateway sends: 500 for a function that failed
// or returned what is no response. The reason is logged.
func (f *Front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := rand.Text()
	w.Header().Set("Apigw-Requestid", id)
	payload, err := f.payload(req, id)
	if err != nil {
		slog.Warn("the request cannot be read", "error", err)
		refuseRequest(w, http.StatusBadRequest)
		return
	}
	result, err := f.Invoke(context.WithoutCancel(req.Context()), payload)
	if err == nil {
		err = answer(w, result)
	}
	if err != nil {
		slog.Error("the function failed", "error", err)
		refuseRequest(w, http.StatusInternalServerError)
	}
}

// payload is the event of a request as JSON.
func (f *Front) payload(req *http.Request, id string) ([]byte, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	route := "$default"
	if r := req.Method + " " + req.URL.Path; slices.Contains(f.Routes, r) {
		route = r
	}
	return json.Marshal(event(req, body, route, id, time.Now()))
}

// Pool invokes a function in as many sandboxes as it has invocations at once. Set Function and
// Timeout before the first one.
type Pool struct {
	Function Function
	Timeout  time.Duration

	mu        sync.Mutex
	all, free []*Sandbox
}

// Invoke is [Sandbox.Invoke].
func (p *Pool) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	p.mu.Lock()
	if len(p.free) == 0 {
		s := NewSandbox(p.Function)
		p.all, p.free = append(p.all, s), append(p.free, s)
	}
	s := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, s)
	}()
	return s.Invoke(ctx, payload, p.Timeout)
}

// Kill is [Sandbox.Kill] of each.
func (p *Pool) Kill() error { return p.each((*Sandbox).Kill) }

// Close is [Sandbox.Close] of each. Nothing may be invoked any more.
func (p *Pool) Close() error { return p.each((*Sandbox).Close) }

func (p *Pool) each(f func(*Sandbox) error) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		err = errors.Join(err, f(s))
	}
	return err
}

// Ended tells how a process ended that has no successor yet, such as "signal: killed"; empty if
// there is none.
func (p *Pool) Ended() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		if state := s.Ended(); state != nil {
			return state.String()
		}
	}
	return ""
}

// Logs is what all processes have written so far.
func (p *Pool) Logs() (all string) {
	_ = p.each(func(s *Sandbox) error { // none fails
		all += s.Logs()
		return nil
	})
	return all
}
