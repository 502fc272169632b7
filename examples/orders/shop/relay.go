package shop

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxhttp"
	"github.com/go-idempotent/idempotent/report"
)

// PlacedTopic is the topic of the message that an order was placed.
const PlacedTopic = "order-placed"

// Placed is the body of that message, and its JSON is what the mail gets.
type Placed struct {
	OrderID string `json:"order_id"`
	Email   string `json:"email"`
}

// NewRelay returns what delivers the messages in OUTBOX_TABLE to the mail at MAIL_URL:
//
//	POST v1/messages  {"order_id","email"}
//
// The header Idempotency-Key has the id of the message, so the mail sends once what is delivered
// twice.
func NewRelay(client *dynamodb.Client) *outbox.Relay {
	table := Required("OUTBOX_TABLE", "the DynamoDB table of the messages that leave with the orders")
	deliver := outbox.Deliver(counted)
	if url := URL("MAIL_URL"); url != "" {
		deliver = outboxhttp.To(strings.TrimSuffix(url, "/") + "/v1/messages")
	}
	return outbox.NewRelay(client, table, placedOnly(deliver), outbox.Config{
		Timeout:   Timeout,
		Observers: []func(context.Context, report.Relay){observe.RelayEMF(os.Stdout), observe.RelaySlog(nil)},
	})
}

// placedOnly delivers messages that an order was placed. One of another topic is tried again: a
// newer version of the function may know what to do with it.
func placedOnly(deliver outbox.Deliver) outbox.Deliver {
	return func(ctx context.Context, m outbox.Message) error {
		if m.Topic != PlacedTopic {
			return fmt.Errorf("nobody here delivers messages of the topic %q", m.Topic)
		}
		return deliver(ctx, m)
	}
}

// counted delivers to nobody.
func counted(ctx context.Context, m outbox.Message) error {
	slog.InfoContext(ctx, "counted", "message", m.ID)
	return nil
}
