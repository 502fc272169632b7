// Program unreached has a handler that it wraps, and starts another one.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func main() { lambda.Start(handle) }

// Protected is what main should have started.
func Protected() lambda.Handler { return idempotent.Wrap(handle, memory.New()) }

func handle(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	_ = idempotent.ErrInProgress
	return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
}
