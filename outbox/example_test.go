package outbox_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxsqs"
)

// Order is a row of a table of orders.
type Order struct {
	ID string `dynamodbav:"order_id" json:"order_id"`
}

func ExampleOutbox_Message() {
	placeOrder := func(ctx context.Context,
		req events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		row := Order{ID: idempotent.DerivedKey(ctx, "order")}
		created := events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: req.Body}
		return dynamo.Commit(ctx, created,
			dynamo.Put(os.Getenv("ORDERS_TABLE"), row, dynamo.IfAbsent("order_id")),
			outbox.New(os.Getenv("OUTBOX_TABLE")).Message(ctx, "order-placed", row))
	}
	_ = placeOrder // idempotent.Wrap takes it

	// What is wrong with a message is said before anything is sent.
	message := outbox.New("outbox").Message(context.Background(), "order-placed", Order{ID: "o-1"})
	fmt.Println(message.Err)
	// Output:
	// outbox: message "order-placed": the context belongs to no delivery, so nothing can be committed: pass on the one that the handler was given
}

// ExampleNewRelay is the main function of a relay: it runs on Lambda only.
func ExampleNewRelay() {
	var client *dynamodb.Client
	var queues *sqs.Client
	run := func() {
		relay := outbox.NewRelay(client, os.Getenv("OUTBOX_TABLE"), outboxsqs.To(queues, os.Getenv("QUEUE_URL")))
		lambda.Start(relay.Stream)
	}
	fmt.Println(run != nil)
	// Output: true
}
