// Command drain is a Lambda function for a schedule. It delivers those messages of the orders' outbox that the function relay has put off, and
// those that the stream of the table has lost, as that function does:
//
//	POST $MAIL_URL/v1/messages  {"order_id","email"}
//
// A message that fails is tried again after a pause that grows, and is parked after many tries. Then somebody has to look at it.
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/orders/drain
//
// Its environment is that of the function relay:
//
//	OUTBOX_TABLE               the DynamoDB table of the messages, required. It has the index outbox-index
//	MAIL_URL                   the base URL of the mail. Without one, messages are only counted
//	MAIL_SECRET                instead of it, for one with a password in it: the ARN of the secret in Secrets Manager that
//	                           holds the URL
//	QUEUE_URL                  instead of both, the URL of a queue of SQS that gets the messages, for the function consumer
//	                           beside it
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// The event means nothing. Logs and metrics go to standard output, from where CloudWatch takes them. examples/orders/template.yaml deploys the function.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/orders/delivery"
)

func main() { environment.StartWithoutRecords("drain", newHandler) }

func newHandler(ctx context.Context, base environment.Base) (lambda.Handler, error) {
	relay, err := delivery.NewRelay(ctx, base)
	if err != nil {
		return nil, err
	}
	return lambda.NewHandler(func(ctx context.Context) error {
		_, err := relay.Drain(ctx) // the report goes to the observers
		return err
	}), nil
}
