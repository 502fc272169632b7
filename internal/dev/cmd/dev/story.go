package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// invocationTimeout is that of the functions of a story. A claim is protected for the rest of the
// invocation and a margin of two seconds, so a crash blocks its key that long.
const invocationTimeout = 3 * time.Second

// What comes back to a client, as a pattern.
const (
	created = "201 Created"
	blocked = "409 Conflict, Retry-After: [1-6]" // rounded up
	killed  = `500 Internal Server Error \(signal: killed\)`
)

// story sends requests as a client does, kills functions meanwhile, and checks what comes back.
// What went wrong first is its error: from then on nothing is sent and nothing is printed.
type story struct {
	*world

	front   http.Handler
	path    string
	victims map[string]*function // those that can be killed
	err     error
}

func (w *world) story(of example) *story {
	f := w.function(of.function, invocationTimeout)
	return &story{world: w, front: of.front(f), path: of.path, victims: map[string]*function{of.function: f}}
}

// patience is how long what a function is killed with may take.
const patience = 30 * time.Second

// kill sends a request, and kills a function when a moment in it has come, or later. An empty name
// kills nobody.
func (s *story) kill(ctx context.Context, name string, at moment, key, body string) reply {
	died := make(chan error, 1)
	if name == "" {
		died <- nil
	} else {
		s.watch.arm(at, func() { died <- s.victims[name].Kill() })
	}
	got := s.send(ctx, key, body)
	if s.err != nil {
		return got
	}
	select {
	case s.err = <-died:
	case <-time.After(patience):
		s.err = fmt.Errorf("the function %s was not killed: the moment did not come", name)
	}
	return got
}

// send sends a JSON body with an idempotency key, once.
func (s *story) send(ctx context.Context, key, body string) reply {
	if s.err != nil {
		return reply{httptest.NewRecorder()}
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, s.path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	return ask(s.front, req)
}

// expect checks what came back.
func (s *story) expect(came, want string) {
	if s.err == nil && !regexp.MustCompile("^"+want+"$").MatchString(came) {
		s.err = fmt.Errorf("what came back is %q, want %q", came, want)
	}
}

func (s *story) printf(format string, args ...any) {
	if s.err == nil {
		fmt.Fprintf(s.out, format, args...)
	}
}

func (s *story) sleep(ctx context.Context, d time.Duration) {
	if s.err == nil {
		limited, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		<-limited.Done()
		s.err = ctx.Err()
	}
}

// reply is what a client got.
type reply struct{ *httptest.ResponseRecorder }

func ask(handler http.Handler, r *http.Request) reply {
	got := reply{httptest.NewRecorder()}
	handler.ServeHTTP(got, r)
	return got
}

// passOn gives what was answered to another client.
func (a reply) passOn(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header())
	w.WriteHeader(a.Code)
	_, _ = io.Copy(w, bytes.NewReader(a.Body.Bytes())) // fails if that one is gone
}

func (a reply) String() string {
	text := fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code))
	if a.Header().Get("Idempotent-Replayed") == "true" {
		text += ", replayed"
	}
	if after := a.Header().Get("Retry-After"); after != "" {
		text += ", Retry-After: " + after
	}
	return text
}

// wait is how long the client was told to wait.
func (a reply) wait() time.Duration {
	seconds, _ := strconv.Atoi(a.Header().Get("Retry-After")) // none is no time
	return time.Duration(seconds) * time.Second
}

// moment is one in a request: before the effect that it asks for, or after it, before the answer.
type moment struct {
	kind  string
	after bool
}

// watch waits for a moment in which a story can step in.
type watch struct {
	mu   sync.Mutex
	at   moment
	then func()
}

// arm sets what happens when a moment has come, once. If that is before the effect, the effect does
// not happen: nobody is left who could read the answer.
func (x *watch) arm(at moment, then func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at, x.then = at, then
}

// pass hands a request to whoever serves it.
func (x *watch) pass(kind string, to http.Handler, w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	after, then := x.at.after, x.then
	if kind == x.at.kind {
		x.then = nil
	} else {
		then = nil
	}
	x.mu.Unlock()
	switch {
	case then == nil:
		to.ServeHTTP(w, r)
	case after:
		served := ask(to, r)
		then()
		served.passOn(w)
	default:
		then()
	}
}
