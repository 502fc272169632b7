// Command orders is a Lambda function that takes orders, behind an HTTP API of API Gateway (payload format 2.0). Each order has effects
// at two services, and survives a crash between them. Then it is a row in a table and a message in an outbox, written in one transaction
// with the answer:
//
//	POST /orders  {"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/orders
//
// Its environment, besides what Lambda sets:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required
//	ORDERS_TABLE               the DynamoDB table of the orders, required; partition key order_id (S)
//	OUTBOX_TABLE               the DynamoDB table of the messages, required; partition key id (S), with a stream of new images
//	REQUIRE_TENANT             true behind an API with an authorizer: a request whose caller is not known gets 401;
//	                           false (default) behind an API without one
//	STOCK_URL                  the base URL of the stock: POST v1/reservations, DELETE v1/reservations/{id}
//	PAYMENTS_URL               the base URL of the payment provider: POST v1/charges
//	STOCK_SECRET, PAYMENTS_SECRET
//	                           instead of a URL, for one with a password in it: the ARN of the secret in Secrets Manager
//	                           that holds the URL
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// What a service without a URL would be asked for is only counted. Logs and metrics go to standard output, from where CloudWatch
// takes them. examples/orders/template.yaml deploys the function.
//
// The message "order-placed" {"order_id","email"} is for the mail. The function relay beside it takes it from the stream of the outbox and
// delivers it, the function drain does so with what the stream has put off. If both have a QUEUE_URL, the message goes to a queue instead, from
// which the function consumer ships the order.
//
// The command local runs the same handler on your machine, the command demo kills it between any two effects.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/order"
)

func main() { environment.Start("orders", newHandler) }

// newHandler builds what lives as long as the process: connections outlast invocations.
func newHandler(ctx context.Context, env environment.Environment) (lambda.Handler, error) {
	tables, err := tablesFromEnvironment()
	if err != nil {
		return nil, err
	}
	counted := counting.New()
	services, err := order.Connect(func(name string) (*downstream.Client, error) {
		client, err := env.Service(ctx, name, order.Timeout)
		if err == nil && client == nil {
			client = downstream.Within(name, counted)
		}
		return client, err
	})
	if err != nil {
		return nil, err
	}
	return idempotent.Wrap(order.Handler(services, tables), env.Store, order.Effects(), env.Callers, env.Observer), nil
}

func tablesFromEnvironment() (t order.Tables, err error) {
	if t.Orders, err = environment.Table("ORDERS_TABLE", "the orders"); err != nil {
		return t, err
	}
	t.Outbox, err = environment.Table("OUTBOX_TABLE", "the messages that leave with the orders")
	return t, err
}
