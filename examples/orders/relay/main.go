// Command relay is a Lambda function on the stream of the orders' outbox. It delivers to the mail what the function orders has committed:
//
//	POST $MAIL_URL/v1/messages  {"order_id","email"}
//
// with the id of the message in the header Idempotency-Key. Each answer from 200 to 299 says that the message has arrived. After anything
// else it is tried again: a few times by the stream, then by the function drain beside it.
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/orders/relay
//
// Its environment, besides what Lambda sets:
//
//	OUTBOX_TABLE               the DynamoDB table of the messages, required. Its stream has new images
//	MAIL_URL                   the base URL of the mail. Without one, messages are only counted
//	MAIL_SECRET                instead of it, for one with a password in it: the ARN of the secret in Secrets Manager that
//	                           holds the URL
//	QUEUE_URL                  instead of both, the URL of a queue of SQS that gets the messages, for the function consumer
//	                           beside it
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// Its event source mapping has the function response type ReportBatchItemFailures, and a filter; docs/outbox.md has both. Logs and metrics go
// to standard output, from where CloudWatch takes them. examples/orders/template.yaml deploys the function.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/orders/delivery"
)

func main() { environment.StartWithoutRecords("relay", newHandler) }

func newHandler(ctx context.Context, base environment.Base) (lambda.Handler, error) {
	relay, err := delivery.NewRelay(ctx, base)
	if err != nil {
		return nil, err
	}
	return lambda.NewHandler(relay.Stream), nil
}
