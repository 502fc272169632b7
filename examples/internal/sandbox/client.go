package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Answer is what a client got.
type Answer struct {
	Status     int
	Replayed   bool
	RetryAfter string
	Body       string
	// Err says that there was no answer.
	Err error
}

// patience is how long a client waits: longer than any invocation takes.
const patience = 10 * time.Second

// Post sends a JSON body with an idempotency key, once.
func Post(ctx context.Context, url, key, body string) Answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return Answer{Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	// A connection of its own: net/http would repeat the request by itself on one that had been used before.
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{Err: err}
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, err = io.Copy(&text, resp.Body)
	return Answer{
		Status:     resp.StatusCode,
		Replayed:   resp.Header.Get("Idempotent-Replayed") == "true",
		RetryAfter: resp.Header.Get("Retry-After"),
		Body:       text.String(),
		Err:        err,
	}
}

func (a Answer) String() string {
	if a.Err != nil {
		return "connection lost"
	}
	text := fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status))
	if a.Replayed {
		text += ", replayed"
	}
	if a.RetryAfter != "" {
		text += ", Retry-After: " + a.RetryAfter
	}
	return text
}

// Is checks the status.
func (a Answer) Is(status int) error {
	switch {
	case a.Err != nil:
		return fmt.Errorf("no answer, want status %d: %w", status, a.Err)
	case a.Status != status:
		return fmt.Errorf("status %d, want %d; the body is %s", a.Status, status, a.Body)
	default:
		return nil
	}
}

// Wait checks that the client was told to wait, and for how long: at most the longest time that a claim is protected.
func (a Answer) Wait(longest time.Duration) (time.Duration, error) {
	if err := a.Is(http.StatusConflict); err != nil {
		return 0, err
	}
	seconds, err := strconv.Atoi(a.RetryAfter)
	most := longest + time.Second // rounded up
	if d := time.Duration(seconds) * time.Second; err == nil && d > 0 && d <= most {
		return d, nil
	}
	return 0, fmt.Errorf("Retry-After is %q, want 1 to %d seconds", a.RetryAfter, most/time.Second)
}

// Replays checks that the answer is the first one again.
func (a Answer) Replays(first Answer) error {
	if err := a.Is(first.Status); err != nil {
		return err
	}
	switch {
	case !a.Replayed:
		return errors.New("the answer is not marked as a replay")
	case a.Body != first.Body:
		return fmt.Errorf("the replayed body is %s, the first one was %s", a.Body, first.Body)
	default:
		return nil
	}
}
