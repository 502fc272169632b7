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

// reply is what a client got.
type reply struct{ *httptest.ResponseRecorder }

// post sends a JSON body with an idempotency key to a front, once.
func post(ctx context.Context, front http.Handler, path, key, body string) reply {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	return ask(front, req)
}

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

// expect checks what came back.
func expect(came, want string) error {
	if !regexp.MustCompile("^" + want + "$").MatchString(came) {
		return fmt.Errorf("what came back is %q, want %q", came, want)
	}
	return nil
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
	at, then := x.at, x.then
	if kind != at.kind {
		then = nil
	} else {
		x.then = nil
	}
	x.mu.Unlock()
	switch {
	case then == nil:
		to.ServeHTTP(w, r)
	case at.after:
		served := ask(to, r)
		then()
		served.passOn(w)
	default:
		then()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
