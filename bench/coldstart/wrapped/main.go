// Command wrapped is the function with this library, on the client of the command client.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/bench/coldstart/charge"
	"github.com/go-idempotent/idempotent/dynamo"
)

func main() {
	store := dynamo.New(charge.Client(), os.Getenv("IDEMPOTENCY_TABLE"))
	lambda.Start(idempotent.Wrap(charge.Handle, store))
}
