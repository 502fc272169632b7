// Package downstream calls services that take an idempotency key: JSON over HTTP, with the key in the header Idempotency-Key.
package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/body"
)

// Client calls one service. It is safe for concurrent use. Make one with [New] or [Within].
type Client struct {
	name    string
	url     *url.URL
	timeout time.Duration
	http    *http.Client
}

// New returns a client of the service at the base URL, which is absolute and begins with http or https. The name stands in errors. The
// timeout bounds each request, also where the context would last longer.
func New(name, baseURL string, timeout time.Duration) (*Client, error) {
	u, err := BaseURL(name, baseURL)
	if err != nil {
		return nil, err
	}
	// A request must not follow a redirect to a host that nobody configured.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{name, u, timeout, &http.Client{CheckRedirect: stay}}, nil
}

// BaseURL reads the base URL of a service, as [New] takes it.
func BaseURL(name, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: the base URL is not one of the form https://host[:port][/path]", name) // it may hold a password
	}
	return u, nil
}

// Error is a service that failed, did not answer, or misunderstood. It names the status or the failure of the connection. It carries no
// word of the service and nothing of the request, so it may be logged.
type Error struct {
	// Service is the name of the client.
	Service string
	// Status is what the service answered, 0 if that is not what failed.
	Status int
	// Err is what failed otherwise.
	Err error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s: the service answered with status %d", e.Service, e.Status)
	}
	return e.Service + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Misunderstood is the error of an answer of which the caller can make nothing.
func (c *Client) Misunderstood(why string) error {
	return &Error{Service: c.name, Err: errors.New(why)}
}

// Do sends one request and reads the JSON of its answer into out; nil reads nothing. A nil in is a request without a body, an empty
// key is for a request that only asks. Every error is an [*Error]; a status outside of 200 to 299 is one. The service may have acted
// whenever there is an error, and only a repetition with the same key is safe. net/http repeats a request only on a connection that had been idle and turns out to be closed, which the
// key makes safe.
func (c *Client) Do(ctx context.Context, method, path, key string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.request(ctx, method, path, key, in)
	if err != nil {
		return &Error{Service: c.name, Err: err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &Error{Service: c.name, Err: fmt.Errorf("no answer: %w", withoutURL(err))}
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &Error{Service: c.name, Status: resp.StatusCode}
	}
	if err := read(resp.Body, out); err != nil {
		return &Error{Service: c.name, Err: err}
	}
	return nil
}

func (c *Client) request(ctx context.Context, method, path, key string, in any) (*http.Request, error) {
	var content io.Reader
	if in != nil {
		text, err := body.JSON(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url.JoinPath(path).String(), content)
	if err != nil {
		return nil, withoutURL(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return req, nil
}

func read(content io.Reader, out any) error {
	text, err := io.ReadAll(io.LimitReader(content, body.Max+1))
	switch {
	case err != nil:
		return fmt.Errorf("the answer broke off: %w", err)
	case len(text) > body.Max:
		return fmt.Errorf("the answer is longer than %d bytes", body.Max)
	case out != nil && json.Unmarshal(text, out) != nil:
		return errors.New("the answer is not the JSON that was expected")
	default:
		return nil
	}
}

// withoutURL drops the URL from an error of net/http: it may hold a user name that is a secret.
func withoutURL(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
