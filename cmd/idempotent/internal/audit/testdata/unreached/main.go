// Program unreached uses all of the library but Wrap: it has a handler that it wraps, and starts
// another one.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
)

func main() { lambda.Start(handle) }

// Protected is what main should have started.
func Protected() lambda.Handler { return idempotent.Wrap(handle, memory.New()) }

func handle(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	options := []idempotent.Option{
		idempotent.WithOperation("charge"), idempotent.WithHTTP(idempotent.HTTP{}),
		idempotent.WithObserver(observe.EMF(os.Stdout)),
	}
	_, inside := idempotent.FromContext(ctx)
	var handler *idempotent.Handler[string, string]
	if err := idempotent.NotExecuted(errors.New("no")); inside && len(options) > 0 && memory.New() != nil {
		return events.APIGatewayV2HTTPResponse{Body: handler.Operation()},
			errors.Join(err, idempotent.ErrInProgress, &idempotent.ConfigError{})
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
}
