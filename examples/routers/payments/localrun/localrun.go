// Package localrun runs the API of package payments on this machine, on either router.
package localrun

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/routers/payments"
)

// Function is the function on this router. Its gateway has one route for all requests, as a function behind a router usually has.
func Function(on func(*payments.API) payments.Router) local.Function {
	return local.Function{Route: "$default", Try: try, Make: func(
		_ context.Context, _ func(string) string, records *localstore.Opened,
	) (local.Made, error) {
		api := payments.New(&payments.Bank{}, "local")
		return local.Made{Handler: lambda.NewHandler(payments.Function(on(api), records.Store, local.Report(nil)))}, nil
	}}
}

func try(url string) string {
	return fmt.Sprintf(`  curl -i %[1]s/charges -H 'Content-Type: application/json' -H 'Idempotency-Key: order-1' \
    -d '{"amount":1999,"source":"tok_visa"}'

Sent again it is replayed; with another amount it is refused (422); without the key, too (400). The charge can be refunded, once:

  curl -i -X POST %[1]s/charges/ch_1/refund -H 'Idempotency-Key: refund-1'

A transfer is answered in the words of the Stripe API. One to this account gets no answer, and nobody sends it again (409):

  curl -i %[1]s/v1/transfers -H 'Content-Type: application/json' -H 'Idempotency-Key: rent-1' \
    -d '{"amount":1999,"account":"%[2]s"}'

A search needs no key:

  curl -i %[1]s/search -H 'Content-Type: application/json' -d '{"status":"succeeded"}'
`, url, payments.SilentAccount)
}
