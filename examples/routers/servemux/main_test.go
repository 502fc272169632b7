package main

import (
	"testing"

	"github.com/go-idempotent/idempotent/examples/routers/payments/paymentstest"
)

func TestTheBinaryServesEveryRoute(t *testing.T) {
	t.Parallel()
	paymentstest.Run(t)
}

func TestTheFunctionDoesNotStartWithoutASecret(t *testing.T) {
	t.Parallel()
	paymentstest.RunWithoutSecret(t)
}
