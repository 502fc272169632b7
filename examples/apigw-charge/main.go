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
//	EFFECTS                    repeatable (default): a charge of which nobody knows is made again, with the same key, when the client asks
//	                           again; unrepeatable: it is not, and becomes UNKNOWN until the function reconcile has asked the provider
//	PAYLOAD_FORMAT             2.0 (default) behind an HTTP API, 1.0 behind a REST API
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// Logs and metrics go to standard output, from where CloudWatch takes them. template.yaml deploys the function.
//
// The command local beside it runs the same handler on your machine, the command demo shows what it survives.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/environment"
)

func main() { environment.Start("apigw-charge", newHandler) }

// newHandler builds what lives as long as the process: connections outlast invocations.
func newHandler(ctx context.Context, env environment.Environment) (lambda.Handler, error) {
	provider, err := newProvider(ctx, env)
	if err != nil {
		return nil, err
	}
	effects, err := charge.EffectsNamed(os.Getenv("EFFECTS"))
	if err != nil {
		return nil, fmt.Errorf("EFFECTS: %w", err)
	}
	switch format := os.Getenv("PAYLOAD_FORMAT"); format {
	case "", "2.0":
		return idempotent.Wrap(charge.Handler(provider), env.Store, effects, env.Callers, env.Observer), nil
	case "1.0":
		return idempotent.Wrap(charge.REST(charge.Handler(provider)), env.Store, effects, env.Callers, env.Observer), nil
	default:
		return nil, fmt.Errorf("PAYLOAD_FORMAT=%q is neither 1.0 nor 2.0", format)
	}
}

// newProvider returns the provider that the environment names, and one that only counts if it names none.
func newProvider(ctx context.Context, env environment.Environment) (payments.Provider, error) {
	client, err := env.Service(ctx, "PAYMENTS", payments.Timeout)
	if err != nil || client == nil {
		return payments.NewLedger(), err
	}
	return payments.At(client), nil
}
