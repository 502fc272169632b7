// Package shipping ships the orders that were placed. The function consumer of the orders is made of it.
package shipping

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/store"
)

// Name is the name of the service that ships.
const Name = "SHIP"

// Timeout bounds each request to the service.
const Timeout = 5 * time.Second

// Retention is for how long an order that was shipped is not shipped again. A queue keeps a message for 14 days at most, and so does its dead-letter
// queue: a message that comes from there after 14 days, or that the relay delivers once more, meets its record.
const Retention = 29 * 24 * time.Hour

// Service ships orders. It does a thing once for each key: repeated with the same key and the same request it answers as before. Make one with
// [NewService] or [At].
type Service struct{ client *downstream.Client }

// NewService returns the service at the base URL, which is absolute and begins with http or https.
func NewService(baseURL string) (Service, error) {
	client, err := downstream.New("ship", baseURL, Timeout)
	return Service{client}, err
}

// At returns the service of a client.
func At(client *downstream.Client) Service { return Service{client} }

// Handler is a handler of one message of the queue.
type Handler = idempotent.Handler[events.SQSMessage, string]

// Wrap returns the handler of one message that an order was placed: {"order_id","email"}. It ships the order once and returns the id of the
// shipment:
//
//	POST v1/shipments  {"order_id","email"}
//
// The key of a message is its attribute Idempotency-Key, which is the id of the message in the outbox. It is the same whenever the relay delivers the
// message; the message id of SQS is not. Repeating the request does no harm: the service takes the derived key, and knows a shipment that it has
// made. What becomes of its answers when the message comes again:
//
//	2xx            shipped                             replayed: the message is acknowledged
//	400, 404,      the service will never ship this    replayed, likewise. The log says which order it is
//	410, 422       order
//	other, none    the service failed, or did not      not stored: the handler runs again, with the same derived key
//	               answer in time, or misunderstood us
//
// A message without a key, or one that names no order, comes again until the queue moves it to its dead-letter queue.
func Wrap(service Service, s store.Store, operation string, opts ...idempotent.Option) *Handler {
	opts = append([]idempotent.Option{
		idempotent.WithOperation(operation),
		idempotent.WithKeyPath(`messageAttributes."Idempotency-Key".stringValue`),
		idempotent.WithRetention(Retention),
		idempotent.WithEffects(idempotent.Repeatable),
	}, opts...)
	return idempotent.Wrap(batch.JSON(service.ship), s, opts...)
}

// ship is the handler. Errors of the service are [*downstream.Error].
func (s Service) ship(ctx context.Context, placed order.Placed, _ events.SQSMessage) (string, error) {
	if placed.OrderID == "" {
		return "", idempotent.NotExecuted(&batch.BodyError{Type: reflect.TypeFor[order.Placed](), Reason: "it names no order"})
	}
	var shipment struct{ ID string }
	err := s.client.Do(ctx, http.MethodPost, "v1/shipments", idempotent.DerivedKey(ctx, "ship"), placed, &shipment)
	switch {
	case refused(err):
		slog.ErrorContext(ctx, "an order is never shipped", "order", placed.OrderID, "error", err) // nobody else will say so
		return "", idempotent.Terminal(err)
	case err == nil && shipment.ID == "":
		err = s.client.Misunderstood("the answer has no id")
	}
	return shipment.ID, err
}

// refused reports whether the service will never ship the order. A status that says who may ask, how often, or when, is none of these: 401, 403, 408,
// 409, 429.
func refused(err error) bool {
	failure, ok := errors.AsType[*downstream.Error](err)
	if !ok {
		return false
	}
	switch failure.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity:
		return true
	default:
		return false
	}
}
