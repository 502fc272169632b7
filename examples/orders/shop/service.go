package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Timeout bounds each request to a service. An order has two, and API Gateway waits 30 seconds at
// most.
const Timeout = 5 * time.Second

// maxAnswer bounds the answer of a service, in bytes.
const maxAnswer = 8 << 20

// Service is the base URL of a service that takes idempotency keys. It does a thing once for each
// key. An empty one does nothing and answers as a service would, also with 402 for a source that is
// declined: what it is asked for is counted in the log.
type Service string

// Error is a service that failed, did not answer, or misunderstood. The service may have acted, and
// only a repetition with the same key is safe. The error carries nothing of the request, so it may
// be logged.
type Error struct {
	// Status is what the service answered, 0 if that is not what failed.
	Status int
	// Err is what failed otherwise.
	Err error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("the service answered with status %d", e.Status)
	}
	return "no answer of the service: " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Do sends a request with JSON and an idempotency key, and returns the id in the answer. A nil body
// is a request without one. Every error is an [*Error]; a status outside of 200 to 299 is one.
func (s Service) Do(ctx context.Context, method, path, key string, body any) (id string, err error) {
	var content []byte
	if body != nil {
		content, err = encode(body)
	}
	if s == "" && err == nil {
		return count(ctx, method, path, key, content)
	}
	address, misplaced := url.JoinPath(string(s), path)
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	req, wrong := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err := errors.Join(err, misplaced, wrong); err != nil {
		return "", &Error{Err: err}
	}
	req.Header.Set("Idempotency-Key", key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", &Error{Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return "", &Error{Status: resp.StatusCode}
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxAnswer))
	if err != nil {
		return "", &Error{Err: err}
	}
	var made struct{ ID string }
	if method == http.MethodPost && (json.Unmarshal(text, &made) != nil || made.ID == "") {
		return "", &Error{Err: errors.New("the answer has no id")}
	}
	return made.ID, nil
}

// count answers in the place of a service.
func count(ctx context.Context, method, path, key string, content []byte) (id string, err error) {
	if bytes.Contains(content, []byte(`"source":"tok_chargeDeclined"`)) {
		return "", &Error{Status: http.StatusPaymentRequired}
	}
	slog.InfoContext(ctx, "counted", "request", method+" "+path)
	return map[string]string{"v1/reservations": "rs_", "v1/charges": "ch_"}[path] + key, nil
}

// client never follows a redirect to a host that nobody configured.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
