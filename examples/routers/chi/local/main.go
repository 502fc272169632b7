// Command local runs the function chi on this machine behind a local front, so that curl reaches it:
//
//	go run -C examples/routers ./chi/local
//
// Its environment:
//
//	PORT                       the port on 127.0.0.1, 3000 if empty
//	STORE                      where the records are: memory (default), or dynamodb for DynamoDB Local
//	AWS_ENDPOINT_URL_DYNAMODB  with STORE=dynamodb, a server that runs already; else one is started
//	IDEMPOTENCY_TABLE          with STORE=dynamodb, the table; it is created if it is not there
//
// It ends when it is interrupted or terminated, after the requests in flight are answered.
package main

import (
	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/routers/payments"
	"github.com/go-idempotent/idempotent/examples/routers/payments/localrun"
)

func main() { local.Main(localrun.Function(payments.Chi)) }
