// Command local runs the function apigw-charge on this machine behind a local front, so that curl reaches it:
//
//	go run ./examples/apigw-charge/local
//
// Its environment:
//
//	PORT                       the port on 127.0.0.1, 3000 if empty
//	STORE                      where the records are: memory (default), or dynamodb for DynamoDB Local
//	AWS_ENDPOINT_URL_DYNAMODB  with STORE=dynamodb, a server that runs already; else one is started
//	IDEMPOTENCY_TABLE          with STORE=dynamodb, the table; it is created if it is not there
//	PAYMENTS_URL               the base URL of the payment provider; without it charges are only counted
//
// It ends when it is interrupted or terminated, after the requests in flight are answered.
package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
)

var function = local.Function{Route: charge.Route, Make: newFunction, Try: try}

func main() { local.Main(function) }

func newFunction(_ context.Context, getenv func(string) string, records *localstore.Opened) (local.Made, error) {
	if baseURL := getenv("PAYMENTS_URL"); baseURL != "" {
		client, err := payments.NewClient(baseURL)
		if err != nil {
			return local.Made{}, fmt.Errorf("PAYMENTS_URL: %w", err)
		}
		return local.Made{Handler: idempotent.Wrap(charge.Handler(client), records.Store, charge.Effects(), local.Report(nil))}, nil
	}
	ledger := payments.NewLedger()
	counted := func() []slog.Attr { return []slog.Attr{slog.Int("chargesSoFar", ledger.Count())} }
	return local.Made{Handler: idempotent.Wrap(charge.Handler(ledger), records.Store, charge.Effects(), local.Report(counted))}, nil
}

func try(url string) string {
	return fmt.Sprintf(`  curl -i %[1]s/charges -H 'Content-Type: application/json' -H 'Idempotency-Key: order-2' \
    -d '{"amount":1999,"currency":"usd","source":"tok_visa","metadata":{"order":9007199254740993}}'

Sent again it is replayed; with another amount it is refused (422); without the key, too (400). A card that is declined (402):

  curl -i %[1]s/charges -H 'Content-Type: application/json' -H 'Idempotency-Key: order-3' \
    -d '{"amount":1999,"currency":"usd","source":"%[2]s"}'
`, url, payments.DeclinedSource)
}
