package payments

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
)

// Timeout bounds one charge, also where the context would last longer. It leaves API Gateway, which waits 30 seconds at
// most, an answer to pass on.
const Timeout = 10 * time.Second

// Client is the [Provider] behind an HTTP API: POST /v1/charges with an Idempotency-Key header. Make one with
// [NewClient].
//
// Its errors name the status or the failure of the connection. They carry no word of the provider and nothing of the
// request, so they may be logged.
type Client struct {
	url  string
	http *http.Client
}

var _ Provider = (*Client)(nil)

// NewClient returns a client of the API at the base URL, which is absolute and begins with http or https.
func NewClient(baseURL string) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("payments: the base URL is not one of the form https://host[:port][/path]") // it may hold a password
	}
	return &Client{
		url: u.JoinPath("v1/charges").String(),
		// A charge must not follow a redirect to a host that nobody configured.
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Charge implements [Provider]. It sends one request; net/http repeats it only on a connection that had been idle and
// turns out to be closed, which the key makes safe.
func (c *Client) Charge(ctx context.Context, key string, r Request) (Charge, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	body, err := encode(r)
	if err != nil {
		return Charge{}, fmt.Errorf("payments: encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return Charge{}, fmt.Errorf("payments: %w", withoutURL(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := c.http.Do(req)
	if err != nil {
		return Charge{}, fmt.Errorf("payments: no answer: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	return read(resp)
}

func read(resp *http.Response) (Charge, error) {
	switch {
	case resp.StatusCode == http.StatusPaymentRequired:
		return Charge{}, ErrDeclined
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return Charge{}, fmt.Errorf("payments: the provider answered with status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return Charge{}, fmt.Errorf("payments: the answer broke off: %w", err)
	case len(body) > maxBody:
		return Charge{}, fmt.Errorf("payments: the answer is longer than %d bytes", maxBody)
	}
	var charge Charge
	if err := json.Unmarshal(body, &charge); err != nil || charge.ID == "" {
		return Charge{}, errors.New("payments: the answer is no charge")
	}
	return charge, nil
}

// withoutURL drops the URL from an error of net/http: it may hold a user name that is a secret.
func withoutURL(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
