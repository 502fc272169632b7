package lambdaruntime

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// api is the Runtime API of one process. Nothing that is left of an earlier process can reach it.
type api struct {
	function Function
	server   *http.Server
	address  string
	// next hands an event to the process that waits for one.
	next chan *invocation
	// initFailed gets what the process reports of its initialization.
	initFailed chan *FunctionError
	// active counts the serving goroutine and the requests that are being handled.
	active sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	phase   phase
	current *invocation
}

// phase is where the process of an api stands.
type phase string

const (
	phaseInit     phase = "init"     // started, has not asked for an event
	phaseWaiting  phase = "waiting"  // asked for an event
	phaseRunning  phase = "running"  // has an event, has not answered
	phaseAnswered phase = "answered" // has answered, has not asked for the next event
	phaseFailed   phase = "failed"   // has reported that it cannot start
)

func serveAPI(f Function) (*api, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the Runtime API: %w", err)
	}
	a := &api{
		function:   f,
		address:    listener.Addr().String(),
		next:       make(chan *invocation),
		initFailed: make(chan *FunctionError, 1),
		phase:      phaseInit,
	}
	a.server = &http.Server{
		Handler:           a.routes(),
		ErrorLog:          log.New(io.Discard, "", 0), // a killed process leaves broken connections
		ReadHeaderTimeout: time.Minute,
	}
	a.active.Go(func() {
		_ = a.server.Serve(listener) // ends with close
	})
	return a, nil
}

// close ends the API and waits until no request is being handled.
func (a *api) close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	err := a.server.Close()
	a.active.Wait()
	return err
}

// begin counts a request in, unless the API is closed.
func (a *api) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.active.Add(1)
	}
	return !a.closed
}

// enter moves to the phase to if the current one is among from; otherwise it says where the process stands.
func (a *api) enter(to phase, from ...phase) (stands phase, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(from, a.phase) {
		return a.phase, false
	}
	a.phase = to
	return to, true
}

// take makes an event the current one.
func (a *api) take(i *invocation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase, a.current = phaseRunning, i
}

// invocation returns the current one if id is its id.
func (a *api) invocation(id string) (*invocation, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == nil || a.current.id != id {
		return nil, false
	}
	return a.current, true
}
