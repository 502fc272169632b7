package main

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

// order is what the client wants: one request, however often it is sent.
type order struct {
	name   string
	key    string
	amount int
}

// metadata has numbers that do not survive a float64.
const metadata = `{"order":9007199254740993,"weight":1.10}`

func (o order) body() string {
	return fmt.Sprintf(`{"amount":%d,"currency":"usd","source":"tok_visa","metadata":%s}`, o.amount, metadata)
}

func (o order) String() string { return fmt.Sprintf("%s: %d usd", o.name, o.amount) }

// answer is what the client got.
type answer struct {
	status     int
	replayed   bool
	retryAfter string
	body       string
	err        error // there was no answer
}

// send sends an order to a sandbox, once.
func send(ctx context.Context, url string, o order) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/charges", strings.NewReader(o.body()))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", o.key)
	// A connection of its own: net/http would repeat the request by itself on one that had been used before.
	client := http.Client{Timeout: 2 * invocationTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	_, err = io.Copy(&body, resp.Body)
	return answer{
		status:     resp.StatusCode,
		replayed:   resp.Header.Get("Idempotent-Replayed") == "true",
		retryAfter: resp.Header.Get("Retry-After"),
		body:       body.String(),
		err:        err,
	}
}

func (a answer) String() string {
	if a.err != nil {
		return "connection lost"
	}
	text := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	if a.replayed {
		text += ", replayed"
	}
	if a.retryAfter != "" {
		text += ", Retry-After: " + a.retryAfter
	}
	return text
}

// beside is String, and says whether the body is that of an earlier answer.
func (a answer) beside(first answer) string {
	if a.err != nil || a.body != first.body {
		return a.String() + ", other bytes"
	}
	return a.String() + ", same bytes"
}

// is checks the status.
func (a answer) is(status int) error {
	switch {
	case a.err != nil:
		return fmt.Errorf("no answer, want status %d: %w", status, a.err)
	case a.status != status:
		return fmt.Errorf("status %d, want %d; the body is %s", a.status, status, a.body)
	default:
		return nil
	}
}

// charges checks that the answer is a new one, about this order.
func (a answer) charges(o order) error {
	if err := a.is(http.StatusCreated); err != nil {
		return err
	}
	about := fmt.Sprintf(`"amount":%d,"currency":"usd","status":"succeeded","metadata":%s}`, o.amount, metadata)
	switch {
	case a.replayed:
		return errors.New("the answer is a replay, want a new one")
	case !strings.HasSuffix(a.body, about):
		return fmt.Errorf("the body is %s, want one that ends with %s", a.body, about)
	default:
		return nil
	}
}

// replays checks that the answer is the first one again.
func (a answer) replays(first answer) error {
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
func (a answer) wait() (time.Duration, error) {
	if err := a.is(http.StatusConflict); err != nil {
		return 0, err
	}
	seconds, err := strconv.Atoi(a.retryAfter)
	most := invocationTimeout + leaseMargin + time.Second // rounded up
	if d := time.Duration(seconds) * time.Second; err == nil && d > 0 && d <= most {
		return d, nil
	}
	return 0, fmt.Errorf("Retry-After is %q, want 1 to %d seconds", a.retryAfter, most/time.Second)
}
