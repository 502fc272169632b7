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
//	REQUIRE_TENANT             true behind an API with an authorizer: a request whose caller is not known gets 401;
//	                           false (default) behind an API without one
//	PAYMENTS_URL               the base URL of the payment provider; without it charges are only counted
//	PAYMENTS_SECRET            instead of PAYMENTS_URL, for a URL with a password in it: the ARN of the secret in
//	                           Secrets Manager that holds the URL
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
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
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
	callers, err := callersFrom(os.Getenv("REQUIRE_TENANT"))
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	provider, err := newProvider(ctx, cfg, os.Getenv("PAYMENTS_URL"), os.Getenv("PAYMENTS_SECRET"))
	if err != nil {
		return nil, err
	}
	store := dynamo.New(newClient(cfg), table)
	observer := idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil)))
	switch format := os.Getenv("PAYLOAD_FORMAT"); format {
	case "", "2.0":
		return idempotent.Wrap(charge.Handler(provider), store, charge.Effects(), callers, observer), nil
	case "1.0":
		return idempotent.Wrap(rest(charge.Handler(provider)), store, charge.Effects(), callers, observer), nil
	default:
		return nil, fmt.Errorf("PAYLOAD_FORMAT=%q is neither 1.0 nor 2.0", format)
	}
}

// callersFrom says what becomes of requests whose caller is not known. Where an authorizer names the callers, a request without
// one is refused: all such callers would share one scope, and could get each other's answers.
func callersFrom(required string) (idempotent.Option, error) {
	switch required {
	case "", "false", "true":
		return idempotent.WithHTTP(idempotent.HTTP{RequireTenant: required == "true"}), nil
	default:
		return nil, fmt.Errorf("REQUIRE_TENANT=%q is neither true nor false", required)
	}
}

// newClient returns a client of DynamoDB.
func newClient(cfg aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(cfg, impatient, quiet)
}

// impatient makes an outage of DynamoDB show while there is time to answer it: the SDK waits for a reply without limit and
// tries three times, but a claim has three seconds. It also ends the wait on a connection that died while the sandbox
// was frozen.
func impatient(o *dynamodb.Options) {
	o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(2 * time.Second)
	o.RetryMaxAttempts = 2
}

// quiet keeps the SDK from warning about every refused write if the server runs on this machine. DynamoDB Local and LocalStack
// send no checksum with a refusal, and the SDK takes that for a wrong one: https://github.com/aws/aws-sdk-go-v2/issues/3545.
// Whatever else the environment names is asked for checksums, as DynamoDB itself is.
func quiet(o *dynamodb.Options) {
	endpoint, err := url.Parse(aws.ToString(o.BaseEndpoint))
	if err != nil {
		return // the first call says so
	}
	address, _ := netip.ParseAddr(endpoint.Hostname()) // a name is no address
	o.DisableValidateResponseChecksum = endpoint.Hostname() == "localhost" || address.IsLoopback()
}
