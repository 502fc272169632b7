package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
)

// moment is one within a request of a function: before the effect that it asks for, or after it and
// before its answer.
type moment struct {
	kind  string
	after bool
}

// watch waits for a moment in which a story can step in.
type watch struct {
	mu   sync.Mutex
	at   moment
	then func() (goesOn bool)
}

// arm sets what happens when a moment has come, once, and whether the request goes on then. It does
// not if nobody is left who could read the answer.
func (x *watch) arm(at moment, then func() (goesOn bool)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at, x.then = at, then
}

// pass hands a request to whoever serves it.
func (x *watch) pass(kind string, to http.Handler, w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	at, then := x.at, x.then
	if kind != at.kind {
		then = nil
	} else {
		x.then = nil
	}
	x.mu.Unlock()
	if then == nil {
		to.ServeHTTP(w, r)
		return
	}
	served := reply{httptest.NewRecorder()}
	if at.after {
		to.ServeHTTP(served, r)
	}
	switch {
	case !then():
	case at.after:
		served.passOn(w)
	default:
		to.ServeHTTP(w, r)
	}
}
