package mail

import (
	"context"
	"os"

	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxobserve"
)

// NewRelay returns the relay of a function whose environment has OUTBOX_TABLE and MAIL_URL or MAIL_SECRET.
func NewRelay(ctx context.Context, base environment.Base) (*outbox.Relay, error) {
	table, err := environment.Table("OUTBOX_TABLE", "the messages that leave with the orders")
	if err != nil {
		return nil, err
	}
	baseURL, err := base.URL(ctx, Name)
	if err != nil {
		return nil, err
	}
	deliver := Counted(counting.New())
	if baseURL != nil {
		deliver = At(baseURL)
	}
	return outbox.NewRelay(base.DynamoDB(), table, deliver, outbox.WithTimeout(Timeout),
		outbox.WithObserver(outboxobserve.EMF(os.Stdout)), outbox.WithObserver(outboxobserve.Slog(nil))), nil
}
