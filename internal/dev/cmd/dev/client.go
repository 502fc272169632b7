package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
type reply struct {
	status     int
	replayed   bool
	retryAfter string
	body       string
}

// post sends a JSON body with an idempotency key to a front, once.
func post(ctx context.Context, front http.Handler, path, key, body string) reply {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	rec := httptest.NewRecorder()
	front.ServeHTTP(rec, req)
	resp := rec.Result()
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // it is in memory
	return reply{
		status: resp.StatusCode, replayed: resp.Header.Get("Idempotent-Replayed") == "true",
		retryAfter: resp.Header.Get("Retry-After"), body: string(text),
	}
}

func (a reply) String() string {
	text := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	if a.replayed {
		text += ", replayed"
	}
	if a.retryAfter != "" {
		text += ", Retry-After: " + a.retryAfter
	}
	return text
}

// is checks the status.
func (a reply) is(status int) error {
	if a.status != status {
		return fmt.Errorf("status %d, want %d; the body is %s", a.status, status, a.body)
	}
	return nil
}

// replays checks that the answer is the first one again.
func (a reply) replays(first reply) error {
	if err := a.is(first.status); err != nil {
		return err
	}
	switch {
	case !a.replayed:
		return errors.New("the answer is not marked as a replay")
	case a.body != first.body:
		return fmt.Errorf("the replayed body is %s, the first one was %s", a.body, first.body)
	default:
		return nil
	}
}

// wait checks that the client was told to wait, and for how long.
func (a reply) wait() (time.Duration, error) {
	if err := a.is(http.StatusConflict); err != nil {
		return 0, err
	}
	seconds, err := strconv.Atoi(a.retryAfter)
	most := longest + time.Second // rounded up
	if d := time.Duration(seconds) * time.Second; err == nil && d > 0 && d <= most {
		return d, nil
	}
	return 0, fmt.Errorf("Retry-After is %q, want 1 to %d seconds", a.retryAfter, most/time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
