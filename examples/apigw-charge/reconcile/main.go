// Command reconcile is a Lambda function for a schedule. It settles the charges of which nobody knows, without a client: it asks the payment
// provider about each record of the function apigw-charge that somebody has to settle and that is due:
//
//	GET $PAYMENTS_URL/v1/keys/KEY/charges
//
// A charge that was made completes its record, and the client's next request gets the answer that it would have got. If there is none, that
// request executes. If the provider cannot tell, it is asked again after a pause that grows, and the record is parked after many tries.
// Then somebody has to look at it.
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/apigw-charge/reconcile
//
// Its environment:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required. It has the index attention-index
//	OPERATION                  the name of the function apigw-charge, which is the operation of its records, required
//	PAYMENTS_URL               the base URL of the payment provider; it or PAYMENTS_SECRET is required
//	PAYMENTS_SECRET            instead of it, for a URL with a password in it: the ARN of the secret in Secrets Manager that
//	                           holds the URL
//	EFFECTS, PAYLOAD_FORMAT    those of the function apigw-charge: the result of a record is stored as that function does it
//	PARKED_QUEUE_URL           the URL of a queue of SQS that gets a message for each record that is parked; without it they are
//	                           only counted
//	FIRST_PAUSE, LONGEST_PAUSE the pauses between two questions, such as 1m (default) and 1h (default)
//	MAX_TRIES                  how often is asked before a record is parked, 30 by default
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// The event of a schedule means nothing. The event {"all": true} is for a person: it also asks about records that are not due, and those that
// are parked. The result is the report. Logs and metrics go to standard output, from where CloudWatch takes them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/operate/operateobserve"
	"github.com/go-idempotent/idempotent/operate/operatesqs"
)

// patience is how long the provider gets to answer a question. The resolver gets longer, so that a question ends with the error that says why.
const patience = 5 * time.Second

func main() { environment.Start("reconcile", newHandler) }

func newHandler(ctx context.Context, env environment.Environment) (lambda.Handler, error) {
	operation := os.Getenv("OPERATION")
	if operation == "" {
		return nil, errors.New("OPERATION is not set: it names the function whose records are reconciled")
	}
	effects, err := charge.EffectsNamed(os.Getenv("EFFECTS"))
	if err != nil {
		return nil, fmt.Errorf("EFFECTS: %w", err)
	}
	provider, err := newProvider(ctx, env)
	if err != nil {
		return nil, err
	}
	config, err := newConfig(env.Base)
	if err != nil {
		return nil, err
	}
	options := []idempotent.Option{idempotent.WithOperation(operation), effects, env.Callers}
	switch format := os.Getenv("PAYLOAD_FORMAT"); format {
	case "", "2.0":
		handler := idempotent.Wrap(charge.Handler(provider), env.Store, options...)
		return function(operate.Reconcile(handler, charge.Resolver(provider), config)), nil
	case "1.0":
		handler := idempotent.Wrap(charge.REST(charge.Handler(provider)), env.Store, options...)
		return function(operate.Reconcile(handler, charge.RESTResolver(provider), config)), nil
	default:
		return nil, fmt.Errorf("PAYLOAD_FORMAT=%q is neither 1.0 nor 2.0", format)
	}
}

// newProvider returns the provider that the environment names. There is no other one: of a provider that only counts, in the memory of
// another process, this one would say that nothing was ever charged.
func newProvider(ctx context.Context, env environment.Environment) (*payments.Client, error) {
	client, err := env.Service(ctx, "PAYMENTS", patience)
	if err != nil {
		return nil, err
	}
	if client == nil {
		return nil, errors.New("neither PAYMENTS_URL nor PAYMENTS_SECRET is set: there is nobody to ask")
	}
	return payments.At(client), nil
}

func newConfig(base environment.Base) (operate.ReconcileConfig, error) {
	c := operate.ReconcileConfig{Observe: operateobserve.Both(operateobserve.ReconcileEMF(os.Stdout), operateobserve.ReconcileSlog(nil))}
	if queue := os.Getenv("PARKED_QUEUE_URL"); queue != "" {
		c.How.Park = operatesqs.Park(sqs.NewFromConfig(base.AWS, impatient), queue)
	}
	for name, pause := range map[string]*time.Duration{"FIRST_PAUSE": &c.How.FirstPause, "LONGEST_PAUSE": &c.How.LongestPause} {
		if err := set(name, pause, time.ParseDuration); err != nil {
			return c, err
		}
	}
	return c, set("MAX_TRIES", &c.How.MaxTries, strconv.Atoi)
}

// set reads a variable, if it is there.
func set[T any](name string, value *T, parse func(string) (T, error)) error {
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	parsed, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*value = parsed
	return nil
}

// function is the handler of the events.
func function(r *operate.Reconciler) lambda.Handler {
	return lambda.NewHandler(func(ctx context.Context, event struct {
		All bool `json:"all"`
	},
	) (operate.Reconciliation, error) {
		if event.All {
			return r.All(ctx)
		}
		return r.Run(ctx)
	})
}

// impatient leaves time for a second try if the first one has met a connection that died while the sandbox was frozen.
func impatient(o *sqs.Options) {
	o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(2 * time.Second)
}
