// Command orders is a Lambda function that takes orders, behind an HTTP API. Each order has effects
// at two services, and survives a crash between them. Then it is a row in a table and a message in
// an outbox, written in one transaction with the answer:
//
//	POST /orders  {"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}
//
// Its environment:
//
//	IDEMPOTENCY_TABLE  the DynamoDB table of the idempotency records
//	ORDERS_TABLE       the DynamoDB table of the orders; partition key order_id (S)
//	OUTBOX_TABLE       the DynamoDB table of the messages
//	STOCK_URL          the base URL of the stock: POST v1/reservations, DELETE v1/reservations/{id}
//	PAYMENTS_URL       the base URL of the payment provider: POST v1/charges
//
// What a service without a URL would be asked for is only counted. The function relay beside this
// one takes the message from the stream of the outbox and delivers it to the mail. The function
// drain finds what was missed.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/orders/shop"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/outbox"
)

func main() { shop.Start(newHandler) }

// newHandler builds what lives as long as the process.
func newHandler(client *dynamodb.Client) lambda.Handler {
	records := shop.Required("IDEMPOTENCY_TABLE", "the DynamoDB table of the idempotency records")
	o := &orders{
		table: shop.Required("ORDERS_TABLE", "the DynamoDB table of the orders"),
		outbox: outbox.New(shop.Required("OUTBOX_TABLE",
			"the DynamoDB table of the messages that leave with the orders")),
		stock:    shop.Service(shop.URL("STOCK_URL")),
		payments: shop.Service(shop.URL("PAYMENTS_URL")),
	}
	return idempotent.Wrap(o.place, dynamo.New(client, records),
		// The services take the derived keys, and know what they have done: repeating an effect
		// does no harm.
		idempotent.WithEffects(idempotent.Repeatable),
		idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil))))
}
