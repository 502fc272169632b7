package order

import (
	"context"
	"fmt"

	"github.com/go-idempotent/idempotent/outbox"
)

// PlacedOnly delivers messages that an order was placed. One of another topic is tried again: a newer version of the function that delivers may
// know what to do with it.
func PlacedOnly(deliver outbox.Deliver) outbox.Deliver {
	return func(ctx context.Context, m outbox.Message) error {
		if m.Topic != PlacedTopic {
			return fmt.Errorf("nobody here delivers messages of the topic %q", m.Topic)
		}
		return deliver(ctx, m)
	}
}
