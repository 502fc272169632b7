// Package environment reads the environment of a function, which says the same to every function of the examples:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required of a function that has some
//	REQUIRE_TENANT             true behind an API with an authorizer: a request whose caller is not known gets 401;
//	                           false (default) behind an API without one
//	<SERVICE>_URL              the base URL of a service that the function calls
//	<SERVICE>_SECRET           instead of it, for a URL with a password in it: the ARN of the secret in Secrets Manager that
//	                           holds the URL
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
package environment

import (
	"context"
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
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/store"
)

// Base is what every function of the examples has.
type Base struct {
	// AWS is the configuration of the SDK.
	AWS aws.Config
}

// Environment is what a function of the examples is made of that protects its requests.
type Environment struct {
	Base

	// Store has the idempotency records.
	Store store.Store
	// Callers says what becomes of requests whose caller is not known, Observer where logs and metrics go: to standard output, from
	// where CloudWatch takes them.
	Callers, Observer idempotent.Option
}

// Start runs a function as Lambda wants it. It does not return. If the handler cannot be made, the process ends, and the log says why.
func Start(name string, handler func(context.Context, Environment) (lambda.Handler, error)) {
	start(name, read, handler)
}

// StartWithoutRecords runs a function that has no idempotency records, likewise.
func StartWithoutRecords(name string, handler func(context.Context, Base) (lambda.Handler, error)) {
	start(name, readBase, handler)
}

func start[E any](name string, read func(context.Context) (E, error), handler func(context.Context, E) (lambda.Handler, error)) {
	slog.SetDefault(lambdacontext.NewLogger())
	ctx := context.Background()
	env, err := read(ctx)
	if err == nil {
		var h lambda.Handler
		if h, err = handler(ctx, env); err == nil {
			lambda.Start(h)
		}
	}
	slog.Error(name+" cannot start", "error", err)
	os.Exit(1)
}

// Table returns the name of a table that a variable has. What is in the table stands in the error if there is none.
func Table(variable, what string) (string, error) {
	name := os.Getenv(variable)
	if name == "" {
		return "", fmt.Errorf("%s is not set: it names the DynamoDB table of %s", variable, what)
	}
	return name, nil
}

func readBase(ctx context.Context) (Base, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return Base{}, fmt.Errorf("load the AWS configuration: %w", err)
	}
	return Base{cfg}, nil
}

func read(ctx context.Context) (Environment, error) {
	table, err := Table("IDEMPOTENCY_TABLE", "the idempotency records")
	if err != nil {
		return Environment{}, err
	}
	callers, err := callersFrom(os.Getenv("REQUIRE_TENANT"))
	if err != nil {
		return Environment{}, err
	}
	base, err := readBase(ctx)
	if err != nil {
		return Environment{}, err
	}
	return Environment{
		Base:     base,
		Store:    dynamo.New(base.DynamoDB(), table),
		Callers:  callers,
		Observer: idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil))),
	}, nil
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

// DynamoDB returns a client of DynamoDB.
func (b Base) DynamoDB() *dynamodb.Client {
	return dynamodb.NewFromConfig(b.AWS, impatient, quiet)
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
