package lambdaruntime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
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
	current *invocation // that the process has not answered
	asking  bool        // the process waits for an event
}

func serveAPI(f Function) (*api, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the Runtime API: %w", err)
	}
	a := &api{
		function: f, address: listener.Addr().String(),
		next: make(chan *invocation), initFailed: make(chan *FunctionError, 1),
	}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /2018-06-01/runtime/invocation/next": a.handleNext,
		"POST /2018-06-01/runtime/invocation/{id}/response": func(w http.ResponseWriter, r *http.Request) {
			a.answer(w, r, func(body []byte) result { return result{response: body} })
		},
		"POST /2018-06-01/runtime/invocation/{id}/error": func(w http.ResponseWriter, r *http.Request) {
			a.answer(w, r, func(body []byte) result { return result{err: reported(body)} })
		},
		"POST /2018-06-01/runtime/init/error": a.handleInitError,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if a.begin() {
				defer a.active.Done()
				handle(w, r)
			}
		})
	}
	// A killed process leaves broken connections: they are not worth a line.
	a.server = &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
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

// set says where the process stands.
func (a *api) set(current *invocation, asking bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current, a.asking = current, asking
}

// busyOrAsking reports whether the process has an event or waits for one.
func (a *api) busyOrAsking() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current != nil || a.asking
}

// handleNext blocks until there is an event for the process.
func (a *api) handleNext(w http.ResponseWriter, r *http.Request) {
	a.set(nil, true)
	select {
	case i := <-a.next:
		a.set(i, false)
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", i.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deliver().UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", a.function.arn())
		h.Set("Lambda-Runtime-Trace-Id", traceID(time.Now()))
		_, _ = w.Write(i.payload) // fails if the process was killed, and then its end is the answer
	case <-r.Context().Done():
		a.set(nil, false) // the process ended, or dropped the connection to ask again
	}
}

// answer ends the current invocation with the body of the request.
func (a *api) answer(w http.ResponseWriter, r *http.Request, toResult func([]byte) result) {
	a.mu.Lock()
	i := a.current
	if i != nil && i.id == r.PathValue("id") {
		a.current = nil
	} else {
		i = nil
	}
	a.mu.Unlock()
	if i == nil {
		write(w, http.StatusBadRequest, `{"errorType":"InvalidRequestID","errorMessage":"Invalid request ID"}`)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxResponse))
	if _, is := errors.AsType[*http.MaxBytesError](err); err != nil && !is {
		return // the process is gone, and its end is the answer
	}
	if err != nil {
		i.answered <- result{err: serviceError(TypeResponseTooLarge, i.id,
			"Response payload size exceeded maximum allowed payload size (%d bytes).", MaxResponse)}
		write(w, http.StatusRequestEntityTooLarge,
			`{"errorType":"RequestEntityTooLarge","errorMessage":"Exceeded maximum allowed payload size"}`)
		return
	}
	i.answered <- toResult(body)
	write(w, http.StatusAccepted, `{"status":"OK"}`)
}

func (a *api) handleInitError(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process is gone
	}
	select {
	case a.initFailed <- reported(body):
	default: // it has said so already
	}
	write(w, http.StatusAccepted, `{"status":"OK"}`)
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // fails if the process was killed
}

// traceID is a header of X-Ray for an invocation that is not sampled.
func traceID(now time.Time) string {
	var b [20]byte
	rand.Read(b[:])
	return fmt.Sprintf("Root=1-%08x-%x;Parent=%x;Sampled=0", now.Unix(), b[:12], b[12:])
}
