package main

import (
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/go-idempotent/idempotent/examples/orders/counting"
)

// moment is one within a request to a service.
type moment struct {
	// kind is the effect that the request asks for; empty is no moment at all.
	kind counting.Kind
	// after the effect, before its answer; else before the effect.
	after bool
}

// services are those of one order, with a moment in which the story can step in.
type services struct {
	*counting.Services

	at moment

	mu   sync.Mutex
	then func()
}

// onMoment sets what happens when the moment has come; nil is nothing.
func (s *services) onMoment(then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.then = then
}

// ServeHTTP implements [http.Handler].
func (s *services) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	then := s.then
	s.mu.Unlock()
	switch {
	case then == nil || s.KindOf(req) != s.at.kind:
		s.Services.ServeHTTP(w, req)
	case s.at.after:
		s.Services.ServeHTTP(httptest.NewRecorder(), req)
		then() // nobody is there any more who could read the answer
	default:
		then() // nor anybody who wants the effect
	}
}

// done counts the effects of each kind.
func (s *services) done() (counts [4]int) {
	for i, kind := range counting.Kinds() {
		counts[i] = s.Done(kind)
	}
	return counts
}
