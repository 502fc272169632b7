// Package delivery says where the messages of the orders go: to the mail, or to a queue. The functions relay and drain of the orders are made of it.
package delivery

import (
	"context"
	"errors"
	"os"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/mail"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxobserve"
	"github.com/go-idempotent/idempotent/outbox/outboxsqs"
)

// QueueVariable names the queue that gets the messages instead of the mail.
const QueueVariable = "QUEUE_URL"

// NewRelay returns the relay of a function whose environment has OUTBOX_TABLE, and QUEUE_URL, MAIL_URL or MAIL_SECRET.
func NewRelay(ctx context.Context, base environment.Base) (*outbox.Relay, error) {
	table, err := environment.Table("OUTBOX_TABLE", "the messages that leave with the orders")
	if err != nil {
		return nil, err
	}
	deliver, err := to(ctx, base)
	if err != nil {
		return nil, err
	}
	return outbox.NewRelay(base.DynamoDB(), table, deliver, outbox.WithTimeout(mail.Timeout),
		outbox.WithObserver(outboxobserve.EMF(os.Stdout)), outbox.WithObserver(outboxobserve.Slog(nil))), nil
}

func to(ctx context.Context, base environment.Base) (outbox.Deliver, error) {
	if queue := os.Getenv(QueueVariable); queue != "" {
		for _, other := range []string{mail.Name + "_URL", mail.Name + "_SECRET"} {
			if os.Getenv(other) != "" {
				return nil, errors.New(QueueVariable + " and " + other + " are both set: a message goes to the queue or to the mail")
			}
		}
		return order.PlacedOnly(outboxsqs.To(sqs.NewFromConfig(base.AWS, impatient), queue)), nil
	}
	baseURL, err := base.URL(ctx, mail.Name)
	if err != nil {
		return nil, err
	}
	if baseURL == nil {
		return mail.Counted(counting.New()), nil
	}
	return mail.At(baseURL), nil
}

// impatient leaves a delivery time for a second try if the first one has met a connection that died while the sandbox was frozen.
func impatient(o *sqs.Options) {
	o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(2 * time.Second)
}
