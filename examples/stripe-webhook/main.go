// Command stripe-webhook is a Lambda function behind a route of an HTTP API, or behind a function URL. It settles the charges of which nobody
// knows by the events that Stripe sends about them: charge.succeeded and charge.failed. Package webhook says which event is believed, and how
// each one is answered.
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/stripe-webhook
//
// Its environment:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required. It has the index attention-index
//	OPERATION                  the name of the function that charges, which is the operation of its records, required
//	STRIPE_SIGNING_SECRET      the ARN of the secret in Secrets Manager that holds the signing secret of the endpoint, required.
//	                           Several are separated by spaces
//	STRIPE_ACCOUNT             the connected account in which the function charges; without it one's own
//	STRIPE_LIVEMODE            true, or false (default) if the charges are tests
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// The function apigw-charge writes charge.Metadata into the metadata of each charge, and so does yours. Without them only the key of the
// request finds the record, and an event that no request has caused finds none.
//
// Take events of charges that are captured at once. A charge that is only authorised settles nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/webhook"
	"github.com/go-idempotent/idempotent/operate"
)

func main() { environment.Start("stripe-webhook", newHandler) }

func newHandler(ctx context.Context, env environment.Environment) (lambda.Handler, error) {
	e := &webhook.Endpoint{
		Operator: operate.New(env.Store), Operation: os.Getenv("OPERATION"), Account: os.Getenv("STRIPE_ACCOUNT"), Now: time.Now,
	}
	if e.Operation == "" {
		return nil, errors.New("OPERATION is not set: it names the function whose records are settled")
	}
	switch live := os.Getenv("STRIPE_LIVEMODE"); live {
	case "", "false":
	case "true":
		e.Live = true
	default:
		return nil, fmt.Errorf("STRIPE_LIVEMODE=%q is neither true nor false", live)
	}
	secret, err := env.Secret(ctx, "STRIPE_SIGNING_SECRET")
	if err != nil {
		return nil, err
	}
	e.Secrets = strings.Fields(secret)
	return lambda.NewHandler(e.Handle), nil
}
