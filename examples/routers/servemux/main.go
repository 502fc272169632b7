// Command servemux is a Lambda function with five routes behind the router of the standard library. Package payments has the routes. Build it for
// the runtime provided.al2023 with
//
//	GOOS=linux go build -C examples/routers -tags lambda.norpc -o bootstrap ./servemux
//
// Its environment, besides what Lambda sets:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required
//	WEBHOOK_SECRET             what webhooks are signed with, required
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// The bank that it talks to only counts. Logs and metrics go to standard output, from where CloudWatch takes them.
//
// The command local beside it runs the same routes on your machine.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/routers/payments"
	"github.com/go-idempotent/idempotent/observe"
)

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("WEBHOOK_SECRET is not set: anybody could sign webhooks")
	}
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	records := dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE"))
	api := payments.New(&payments.Bank{}, secret)
	observer := idempotent.WithObserver(observe.All(observe.EMF(os.Stdout, observe.WithRoute()), observe.Slog(nil)))
	lambda.Start(payments.Function(payments.ServeMux(api), records, observer))
}
