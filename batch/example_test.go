package batch_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/batch/batchsqs"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

type shipOrder struct {
	OrderID string `json:"order_id"`
}

func ship(_ context.Context, o shipOrder, _ events.SQSMessage) (string, error) {
	switch o.OrderID {
	case "o-3":
		return "", idempotent.Terminal(fmt.Errorf("nobody has ordered it"))
	case "o-4":
		return "", fmt.Errorf("the warehouse is down")
	}
	fmt.Println("shipping", o.OrderID)
	return "shipped", nil
}

func keep(_ context.Context, m events.SQSMessage, err error) error {
	fmt.Printf("kept %s: %v\n", m.MessageId, err)
	return nil
}

// A queue hands over two messages of one order, one that can never be shipped, and one that cannot
// be shipped now.
func ExampleSQS() {
	handler := idempotent.Wrap(batch.JSON(ship), memory.New(),
		idempotent.WithOperation("ship"),
		idempotent.WithKeyPath("powertools_json(body).order_id"))
	function := batch.SQS(handler, batch.Config[events.SQSMessage]{Concurrency: 1, Terminal: keep})

	answer, err := function(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", Body: `{"order_id":"o-1"}`},
		{MessageId: "m-2", Body: `{"order_id":"o-1"}`},
		{MessageId: "m-3", Body: `{"order_id":"o-3"}`},
		{MessageId: "m-4", Body: `{"order_id":"o-4"}`},
	}})
	fmt.Println(answer.BatchItemFailures, err)
	// Output:
	// shipping o-1
	// kept m-3: nobody has ordered it
	// [{m-4}] <nil>
}

// What the README and docs/batches.md show, and what needs more than a test has.
func Example_queue() { //nolint:testableexamples // it needs a queue
	var records store.Store
	handler := idempotent.Wrap(batch.JSON(ship), records, idempotent.WithOperation("ship"))
	lambda.Start(batch.SQS(handler))
}

func Example_poison() { //nolint:testableexamples // it needs a queue
	var handler *idempotent.Handler[events.SQSMessage, string]
	function := batch.SQS(handler, batch.Config[events.SQSMessage]{
		Poison: func(ctx context.Context, m events.SQSMessage, err error) error {
			if errors.Is(err, idempotent.ErrUnknownOutcome) {
				return err // it comes again, so that it is executed if somebody settles it as not executed
			}
			return keep(ctx, m, err)
		},
		Terminal: keep,
	})
	lambda.Start(function)
}

func Example_visibility() { //nolint:testableexamples // it needs a queue
	var (
		handler *idempotent.Handler[events.SQSMessage, string]
		cfg     aws.Config
	)
	function := batch.SQS(handler, batch.Config[events.SQSMessage]{
		Visibility: batchsqs.Visibility(sqs.NewFromConfig(cfg), os.Getenv("QUEUE_URL")),
	})
	lambda.Start(function)
}
