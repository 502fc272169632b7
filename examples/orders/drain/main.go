// Command drain is the scheduled function of the orders. Each time
//
//   - it delivers the messages that the function relay has put off, and those that the stream has
//     lost;
//   - it settles the orders of which nobody knows whether they were placed, by their row;
//   - it counts the orders that still wait for somebody, and writes a metric of them.
//
// A message or an order that cannot be helped is tried again after a pause that grows, and is
// given up after many tries. Then somebody has to look at it.
//
// Its environment:
//
//	OPERATION          the name of the function orders, which is the operation of its records
//	IDEMPOTENCY_TABLE  the DynamoDB table of the idempotency records, with the index attention-index
//	ORDERS_TABLE       the DynamoDB table of the orders
//	OUTBOX_TABLE       the DynamoDB table of the messages, with the index outbox-index
//	MAIL_URL           the base URL of the mail; without it messages are only counted
package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/orders/shop"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
)

func main() { shop.Start(newHandler) }

func newHandler(client *dynamodb.Client) lambda.Handler {
	operation := shop.Required("OPERATION", "the function whose records are settled and counted")
	records := dynamo.New(client, shop.Required("IDEMPOTENCY_TABLE", "the DynamoDB table of the idempotency records"))
	orders := rows{client, shop.Required("ORDERS_TABLE", "the DynamoDB table of the orders")}
	relay := shop.NewRelay(client)
	reconciler := operate.Reconcile(placed(records, operation), orders.resolve, operate.ReconcileConfig{
		How:     idempotent.Reconciling{Timeout: shop.Timeout},
		Observe: observe.All(observe.ReconcileEMF(os.Stdout), observe.ReconcileSlog(nil)),
	})
	operator, write := operate.New(records), observe.AttentionEMF(os.Stdout)

	// Messages and orders at once: neither takes the time of the other. The reports go to the
	// observers.
	return lambda.NewHandler(func(ctx context.Context) error {
		var drained, settled, counted error
		var running sync.WaitGroup
		running.Go(func() { _, drained = relay.Drain(ctx) })
		running.Go(func() {
			_, settled = reconciler.Run(ctx)
			counted = count(ctx, operator, operation, write)
		})
		running.Wait()
		return errors.Join(drained, settled, counted)
	})
}

// placed is the handler of the function orders, as far as its records are concerned. It takes no
// orders.
func placed(records *dynamo.Store, operation string) *idempotent.Handler[shop.Request, shop.Response] {
	return idempotent.Wrap(func(context.Context, shop.Request) (shop.Response, error) {
		return shop.Response{}, idempotent.NotExecuted(errors.New("this function takes no orders"))
	}, records, idempotent.WithOperation(operation), idempotent.WithEffects(idempotent.Repeatable))
}
