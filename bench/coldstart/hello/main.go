// Command hello is the function as it is without a database.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent/bench/coldstart/charge"
)

func main() { lambda.Start(charge.Handle) }
