package otel_test

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/observe/otel"
)

// The client's spans and those of the deliveries are in one trace.
func Example() { //nolint:testableexamples // it starts a function
	var (
		cfg    aws.Config // of config.LoadDefaultConfig
		table  = "idempotency"
		charge func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
	)

	o, err := otel.New()
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg, o.Client)
	handler := idempotent.Wrap(charge, dynamo.New(client, table), idempotent.WithTrace(o.Trace))
	lambda.Start(o.Invocation(handler)) // where nothing else makes the span of the invocation
}
