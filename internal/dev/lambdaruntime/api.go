package lambdaruntime

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// invocation is one event on its way to a process and back.
type invocation struct {
	id      string
	payload []byte
	timeout time.Duration
	// answered gets what the process answers.
	answered chan result
}

// result is a response, or the error that the caller gets instead.
type result struct {
	response []byte
	err      error
}

func newInvocation(payload []byte, timeout time.Duration) *invocation {
	return &invocation{id: requestID(), payload: payload, timeout: timeout, answered: make(chan result, 1)}
}

// answerOr returns the answer of a process that is gone, or else what the service says in its
// place.
func (i *invocation) answerOr(otherwise *FunctionError) result {
	select {
	case r := <-i.answered:
		return r
	default:
		return result{err: otherwise}
	}
}

// api is the Runtime API of one process. Nothing that is left of an earlier process can reach it.
type api struct {
	function Function
	server   *httptest.Server
	// next hands an event to the process that waits for one.
	next chan *invocation

	mu      sync.Mutex
	current *invocation // that the process has not answered
}

func serveAPI(f Function) *api {
	a := &api{function: f, next: make(chan *invocation)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.handleNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{what}", a.answer)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusAccepted, accepted) // its end is what counts
	})
	a.server = httptest.NewUnstartedServer(mux)
	// A killed process leaves broken connections: they are not worth a line.
	a.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.server.Start()
	return a
}

// close ends the API and waits until no request is being handled.
func (a *api) close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// handleNext blocks until there is an event for the process.
func (a *api) handleNext(w http.ResponseWriter, r *http.Request) {
	select {
	case i := <-a.next:
		a.mu.Lock()
		a.current = i
		a.mu.Unlock()
		now := time.Now()
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", i.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(now.Add(i.timeout).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", a.function.arn())
		h.Set("Lambda-Runtime-Trace-Id", traceID(now)+";Parent="+traceID(now)[24:]+";Sampled=0")
		_, _ = w.Write(i.payload) // fails if the process was killed, and then its end is the answer
	case <-r.Context().Done(): // the process ended, or dropped the connection to ask again
	}
}

const accepted = `{"status":"OK"}`

// answer ends the current invocation with the body of the request.
func (a *api) answer(w http.ResponseWriter, r *http.Request) {
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
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process is gone, and its end is the answer
	}
	if r.PathValue("what") == "response" {
		i.answered <- result{response: body}
	} else {
		i.answered <- result{err: reported(body)}
	}
	write(w, http.StatusAccepted, accepted)
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // fails if the client is gone, or the process was killed
}

// traceID is a new one of X-Ray.
func traceID(now time.Time) string {
	return fmt.Sprintf("Root=1-%08x-%s", now.Unix(), strings.ReplaceAll(requestID(), "-", "")[:24])
}
