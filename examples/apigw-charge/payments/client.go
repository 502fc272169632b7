package payments

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/downstream"
)

// Timeout bounds one charge, also where the context would last longer. It leaves API Gateway, which waits 30 seconds at
// most, an answer to pass on.
const Timeout = 10 * time.Second

// Client is the [Provider] behind an HTTP API: POST /v1/charges with an Idempotency-Key header, and the [Finder] behind
// GET /v1/keys/KEY/charges. Make one with [NewClient] or [At].
//
// Its errors, other than [ErrDeclined], are [*downstream.Error].
type Client struct{ service *downstream.Client }

var (
	_ Provider = (*Client)(nil)
	_ Finder   = (*Client)(nil)
)

// NewClient returns a client of the API at the base URL, which is absolute and begins with http or https.
func NewClient(baseURL string) (*Client, error) {
	service, err := downstream.New("payments", baseURL, Timeout)
	if err != nil {
		return nil, err
	}
	return At(service), nil
}

// At returns a client of the API of a service.
func At(service *downstream.Client) *Client { return &Client{service} }

// Charge implements [Provider].
func (c *Client) Charge(ctx context.Context, key string, r Request) (Charge, error) {
	var charge Charge
	err := c.service.Do(ctx, http.MethodPost, "v1/charges", key, r, &charge)
	if failure, ok := errors.AsType[*downstream.Error](err); ok && failure.Status == http.StatusPaymentRequired {
		return Charge{}, ErrDeclined
	}
	if err == nil && charge.ID == "" {
		err = c.service.Misunderstood("the answer is no charge")
	}
	return charge, err
}
