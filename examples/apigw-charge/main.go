// Command apigw-charge is a Lambda function that charges payment sources, behind an API of API Gateway:
//
//	POST /charges  {"amount":1999,"currency":"usd","source":"tok_visa","metadata":{"order":"A-1"}}
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/apigw-charge
//
// Its environment, besides what Lambda sets:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required
//	PAYMENTS_URL               the base URL of the payment provider; without it charges are only counted
//	PAYLOAD_FORMAT             2.0 (default) behind an HTTP API, 1.0 behind a REST API
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// Logs and metrics go to standard output, from where CloudWatch takes them. template.yaml deploys the function.
//
// The command local beside it runs the same handler on your machine, the command demo shows what it survives.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/observe"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	handler, err := newHandler(context.Background())
	if err != nil {
		slog.Error("apigw-charge cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// newHandler builds what lives as long as the process: connections outlast invocations.
func newHandler(ctx context.Context) (lambda.Handler, error) {
	table := os.Getenv("IDEMPOTENCY_TABLE")
	if table == "" {
		return nil, errors.New("IDEMPOTENCY_TABLE is not set: it names the DynamoDB table of the idempotency records")
	}
	provider, err := newProvider(os.Getenv("PAYMENTS_URL"))
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	store := dynamo.New(dynamodb.NewFromConfig(cfg, impatient), table)
	observer := idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil)))
	switch format := os.Getenv("PAYLOAD_FORMAT"); format {
	case "", "2.0":
		return idempotent.Wrap(charge.Handler(provider), store, charge.Effects(), observer), nil
	case "1.0":
		return idempotent.Wrap(rest(charge.Handler(provider)), store, charge.Effects(), observer), nil
	default:
		return nil, fmt.Errorf("PAYLOAD_FORMAT=%q is neither 1.0 nor 2.0", format)
	}
}

func newProvider(baseURL string) (payments.Provider, error) {
	if baseURL == "" {
		slog.Warn("PAYMENTS_URL is not set: charges are only counted")
		return payments.NewLedger(), nil
	}
	provider, err := payments.NewClient(baseURL)
	if err != nil {
		return nil, fmt.Errorf("PAYMENTS_URL: %w", err)
	}
	return provider, nil
}

// impatient makes an outage of DynamoDB show while there is time to answer it: the SDK waits for a reply without limit and
// tries three times, but a claim has three seconds. It also ends the wait on a connection that died while the sandbox
// was frozen.
func impatient(o *dynamodb.Options) {
	o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(2 * time.Second)
	o.RetryMaxAttempts = 2
}
