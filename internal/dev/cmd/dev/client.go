package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// The timing of the demonstrations. A claim is protected for the rest of the invocation and a
// margin of two seconds, so a crash blocks its key that long.
const (
	invocationTimeout = 3 * time.Second
	longest           = invocationTimeout + 2*time.Second
)

// reply is what a client got.
type reply struct{ *httptest.ResponseRecorder }

// post sends a JSON body with an idempotency key to a front, once.
func post(ctx context.Context, front http.Handler, path, key, body string) reply {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	got := reply{httptest.NewRecorder()}
	front.ServeHTTP(got, req)
	return got
}

func (a reply) body() string       { return a.Body.String() }
func (a reply) replayed() bool     { return a.Header().Get("Idempotent-Replayed") == "true" }
func (a reply) retryAfter() string { return a.Header().Get("Retry-After") }

// passOn gives what was answered to another client.
func (a reply) passOn(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header())
	w.WriteHeader(a.Code)
	_, _ = a.Body.WriteTo(w)
}

func (a reply) status() string {
	text := fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code))
	if a.replayed() {
		text += ", replayed"
	}
	return text
}

func (a reply) String() string {
	if a.retryAfter() == "" {
		return a.status()
	}
	return a.status() + ", Retry-After: " + a.retryAfter()
}

// is checks the status.
func (a reply) is(status int) error {
	if a.Code != status {
		return fmt.Errorf("status %d, want %d; the body is %s", a.Code, status, a.body())
	}
	return nil
}

// replays checks that the answer is the first one again, which had this status and this body.
func (a reply) replays(status int, body string) error {
	switch {
	case a.Code != status:
		return a.is(status)
	case !a.replayed():
		return errors.New("the answer is not marked as a replay")
	case a.body() != body:
		return fmt.Errorf("the replayed body is %s, the first one was %s", a.body(), body)
	default:
		return nil
	}
}

// wait checks that the client was told to wait, and for how long.
func (a reply) wait() (time.Duration, error) {
	if err := a.is(http.StatusConflict); err != nil {
		return 0, err
	}
	seconds, err := strconv.Atoi(a.retryAfter())
	most := longest + time.Second // rounded up
	if d := time.Duration(seconds) * time.Second; err == nil && d > 0 && d <= most {
		return d, nil
	}
	return 0, fmt.Errorf("Retry-After is %q, want 1 to %d seconds", a.retryAfter(), most/time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
