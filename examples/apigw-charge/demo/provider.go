package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// watched is the provider, with a moment between a charge and its answer in which the story can step in.
type watched struct {
	*payments.Ledger

	mu   sync.Mutex
	then func(ctx context.Context)
}

// onCharge sets what happens in that moment; nil is nothing. The context ends when the caller goes away.
func (w *watched) onCharge(then func(ctx context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.then = then
}

// Charge implements [payments.Provider].
func (w *watched) Charge(ctx context.Context, key string, r payments.Request) (payments.Charge, error) {
	c, err := w.Ledger.Charge(ctx, key, r)
	w.mu.Lock()
	then := w.then
	w.mu.Unlock()
	if then != nil {
		then(ctx)
	}
	return c, err
}

// made checks how many charges there are.
func (w *watched) made(want int) error {
	if got := w.Count(); got != want {
		return fmt.Errorf("the provider made %d charges, want %d", got, want)
	}
	return nil
}
