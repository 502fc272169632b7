// Package mail delivers the messages of the orders to the mail. The functions relay and drain of the orders are made of it.
package mail

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/outbox"
)

// Name is the name of the mail.
const Name = "MAIL"

// Timeout bounds each request to the mail.
const Timeout = 5 * time.Second

// Deliver delivers messages to the mail, of which service is a client:
//
//	POST v1/messages  {"order_id","email"}
//
// The header Idempotency-Key has the id of the message, so that the mail sends once what is delivered twice. Each answer from 200 to 299 says
// that the message has arrived; after everything else it is tried again. So is a message of another topic: a newer version of this function
// may know what to do with it.
func Deliver(service *downstream.Client) outbox.Deliver {
	return func(ctx context.Context, m outbox.Message) error {
		if m.Topic != order.PlacedTopic {
			return fmt.Errorf("nobody here delivers messages of the topic %q", m.Topic)
		}
		return service.Do(ctx, http.MethodPost, "v1/messages", m.ID, m.Body, nil)
	}
}
