// Program generic calls Wrap through a function of its own, for messages of a queue, and never
// unless somebody asks.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func main() {
	if len(os.Args) > 1 {
		lambda.Start(protected[events.SQSMessage]())
	}
}

func protected[In any]() lambda.Handler {
	handle := func(context.Context, In) (string, error) { return "done", nil }
	return idempotent.Wrap(handle, memory.New(), idempotent.WithOperation("generic"))
}
