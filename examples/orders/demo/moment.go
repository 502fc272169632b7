package main

import (
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/go-idempotent/idempotent/examples/orders/counting"
)

// moment is one within a request of a function.
type moment struct {
	// kind is the effect that the request asks for; empty is no moment at all.
	kind counting.Kind
	// after the effect, before its answer; else before the effect.
	after bool
}

// Two more kinds of effects, both in DynamoDB: the commit of an order, and the mark of a message that was delivered.
const (
	commit counting.Kind = "commit"
	mark   counting.Kind = "mark"
)

// watch waits for a moment in which the story can step in.
type watch struct {
	at moment

	mu   sync.Mutex
	then func()
}

// onMoment sets what happens when the moment has come, once; nil is nothing.
func (x *watch) onMoment(then func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.then = then
}

// comes returns what happens at a request for an effect, nil if nothing does.
func (x *watch) comes(kind counting.Kind) (then func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if kind == x.at.kind {
		then, x.then = x.then, nil
	}
	return then
}

// pass hands a request for an effect to whoever has it.
func (x *watch) pass(kind counting.Kind, to http.Handler, w http.ResponseWriter, req *http.Request) {
	then := x.comes(kind)
	switch {
	case then == nil:
		to.ServeHTTP(w, req)
	case x.at.after:
		to.ServeHTTP(httptest.NewRecorder(), req)
		then() // nobody is there any more who could read the answer
	default:
		then() // nor anybody who wants the effect
	}
}
