// Package mail delivers the messages of the orders to the mail.
package mail

import (
	"net/http"
	"net/url"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxhttp"
)

// Name is the name of the mail.
const Name = "MAIL"

// Timeout bounds each delivery.
const Timeout = 5 * time.Second

// At delivers messages to the mail at a base URL, which is absolute and begins with http or https:
//
//	POST v1/messages  {"order_id","email"}
//
// The header Idempotency-Key has the id of the message, so that the mail sends once what is delivered twice. Each answer from 200 to 299 says
// that the message has arrived; after everything else it is tried again.
func At(baseURL *url.URL) outbox.Deliver { return order.PlacedOnly(outboxhttp.To(messages(baseURL))) }

// Counted delivers messages to nobody: they are counted, as the mail would send them.
func Counted(counted *counting.Services) outbox.Deliver {
	client := &http.Client{Transport: downstream.Transport(counted)}
	return order.PlacedOnly(outboxhttp.To(messages(&url.URL{Scheme: "http", Host: Name}), outboxhttp.WithClient(client)))
}

func messages(baseURL *url.URL) string { return baseURL.JoinPath("v1", "messages").String() }
