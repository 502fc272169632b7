// Command consumer is a Lambda function on a queue of SQS, standard or FIFO. It ships each order once that the function relay has told it of:
//
//	POST $SHIP_URL/v1/shipments  {"order_id","email"}
//
// with a key in the header Idempotency-Key that is the same for each delivery of a message. After an answer from 200 to 299 the message is done. After
// 400, 404, 410 and 422, which no repetition changes, it is done, too, and the log says which order is not shipped. After anything else it comes again.
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/orders/consumer
//
// Its environment, besides what Lambda sets:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required
//	SHIP_URL                   the base URL of the service that ships. Without one, shipments are only counted
//	SHIP_SECRET                instead of it, for one with a password in it: the ARN of the secret in Secrets Manager that
//	                           holds the URL
//	QUEUE_URL                  the URL of the queue. A message that another invocation has at the moment comes again when that
//	                           one must have ended; without the URL, after the visibility timeout of the queue
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// Its event source mapping has the function response type ReportBatchItemFailures; docs/batches.md has the settings of the queue. Logs and metrics go
// to standard output, from where CloudWatch takes them.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/batch/batchobserve"
	"github.com/go-idempotent/idempotent/batch/batchsqs"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/shipping"
)

func main() { environment.Start("consumer", newHandler) }

func newHandler(ctx context.Context, env environment.Environment) (lambda.Handler, error) {
	client, err := env.Service(ctx, shipping.Name, shipping.Timeout)
	if err != nil {
		return nil, err
	}
	if client == nil {
		client = downstream.Within(shipping.Name, counting.New())
	}
	opts := []batch.Option{batch.WithObserver(batchobserve.EMF(os.Stdout)), batch.WithObserver(batchobserve.Slog(nil))}
	if queue := os.Getenv("QUEUE_URL"); queue != "" {
		opts = append(opts, batch.WithVisibility(batchsqs.Visibility(sqs.NewFromConfig(env.AWS), queue)))
	}
	handler := shipping.Wrap(shipping.At(client), env.Store, lambdacontext.FunctionName, env.Observer)
	return lambda.NewHandler(batch.SQS(handler, opts...)), nil
}
