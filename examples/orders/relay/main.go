// Command relay is a Lambda function on the stream of the orders' outbox. It delivers to the mail
// what the function orders has committed:
//
//	POST $MAIL_URL/v1/messages  {"order_id","email"}
//
// Each answer from 200 to 299 says that the message has arrived. After anything else it is tried
// again: a few times by the stream, then by the function drain.
//
// Its environment has OUTBOX_TABLE, the DynamoDB table of the messages, whose stream has new
// images, and MAIL_URL, the base URL of the mail. Without MAIL_URL messages are only counted. Its
// event source mapping has the function response type ReportBatchItemFailures, and a filter:
// docs/outbox.md has both.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/examples/orders/shop"
)

func main() {
	shop.Start(func(client *dynamodb.Client) lambda.Handler {
		return lambda.NewHandler(shop.NewRelay(client).Stream)
	})
}
