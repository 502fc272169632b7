package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// provider is the one that was chosen. Of the built-in one it is known how much it has charged.
type provider struct {
	payments.Provider

	ledger *payments.Ledger // nil for another one
}

func newProvider(baseURL string) (*provider, error) {
	if baseURL == "" {
		ledger := payments.NewLedger()
		return &provider{Provider: ledger, ledger: ledger}, nil
	}
	client, err := payments.NewClient(baseURL)
	if err != nil {
		return nil, fmt.Errorf("PAYMENTS_URL: %w", err)
	}
	return &provider{Provider: client}, nil
}

// report tells on the console what became of a request.
func (p *provider) report(ctx context.Context, e idempotent.Event) {
	attrs := []slog.Attr{slog.String("outcome", string(e.Outcome))}
	if e.Settlement != "" {
		attrs = append(attrs, slog.String("settlement", string(e.Settlement)), slog.Int("attempt", e.Attempt))
	}
	if e.StoreErr != nil {
		attrs = append(attrs, slog.Any("storeError", e.StoreErr))
	}
	if p.ledger != nil {
		attrs = append(attrs, slog.Int("chargesSoFar", p.ledger.Count()))
	}
	slog.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}
