// Command local runs the function orders on this machine behind a local front, so that curl reaches it:
//
//	go run ./examples/orders/local
//
// With STORE=dynamodb the functions relay and drain run beside it: they deliver the message of each order from the stream of the outbox, and
// once a minute what the stream has put off.
//
// Its environment:
//
//	PORT                           the port on 127.0.0.1, 3000 if empty
//	STORE                          where the records are: memory (default), or dynamodb for DynamoDB Local
//	AWS_ENDPOINT_URL_DYNAMODB      with STORE=dynamodb, a server that runs already; else one is started
//	IDEMPOTENCY_TABLE              with STORE=dynamodb, the table; it is created if it is not there
//	ORDERS_TABLE, OUTBOX_TABLE     with STORE=dynamodb, the tables of the orders and of their messages, "orders" and "outbox" if empty;
//	                               likewise. An outbox that is there without a stream of new images or without its index is an error.
//	                               The store in memory has no transactions, so with it no row is kept, and NO MESSAGE leaves
//	STOCK_URL, PAYMENTS_URL, MAIL_URL
//	                               the base URLs of the services; what one without a URL would be asked for is only counted
//
// It ends when it is interrupted or terminated, after the requests in flight are answered.
package main

import (
	"context"
	"fmt"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/mail"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxobserve"
)

var function = local.Function{Route: order.Route, Make: newFunction, Try: try}

func main() { local.Main(function) }

func newFunction(ctx context.Context, getenv func(string) string, records *localstore.Opened) (local.Made, error) {
	counted := counting.New()
	services, err := order.Connect(func(name string) (*downstream.Client, error) {
		baseURL := getenv(name + "_URL")
		if baseURL == "" {
			return downstream.Within(name, counted), nil
		}
		client, err := downstream.New(name, baseURL, order.Timeout)
		if err != nil {
			return nil, fmt.Errorf("%s_URL: %w", name, err)
		}
		return client, nil
	})
	if err != nil {
		return local.Made{}, err
	}
	deliver, err := newDelivery(getenv, counted)
	if err != nil {
		return local.Made{}, err
	}
	tables, err := rows.Open(ctx, getenv, records.Settings)
	if err != nil {
		return local.Made{}, err
	}
	made := local.Made{
		Handler: idempotent.Wrap(order.Handler(services, tables.Tables), records.Store, order.Effects(), local.Report(counted.Counts)),
		Known:   tables.String(),
	}
	if tables.Kept() {
		made.Known += " The relay and the drain run beside the function, and deliver the messages."
		relay := outbox.NewRelay(tables.Client(), tables.Outbox, deliver, outbox.WithTimeout(mail.Timeout),
			outbox.WithObserver(outboxobserve.Slog(nil)))
		made.Beside = (&relaying{tables, relay}).run
	}
	return made, nil
}

func try(url string) string {
	const body = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"%s","email":"a@example.com"}`
	return fmt.Sprintf(`  curl -i %[1]s/orders -H 'Content-Type: application/json' -H 'Idempotency-Key: order-1' \
    -d '%[2]s'

Sent again it is replayed, and nothing happens twice. A card that is declined (402), and the reservation is cancelled:

  curl -i %[1]s/orders -H 'Content-Type: application/json' -H 'Idempotency-Key: order-2' \
    -d '%[3]s'
`, url, fmt.Sprintf(body, "tok_visa"), fmt.Sprintf(body, payments.DeclinedSource))
}
