package idempotent_test

// The kit for tests of what Wrap is given, and of what one delivery returns. It offers
//
//   - order and receipt, the event and the result of the handlers, and errCard, the error of a
//     handler that fails
//   - shop, a wrapped handler that counts its executions; newShop makes one, on a store that
//     remembers its calls
//   - keyed and keyOnly, options for handlers of any event
//   - problemsOf, what Wrap finds wrong
//   - invoker, a wrapped handler on the wire

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

type order struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

type receipt struct {
	Charge int64 `json:"charge"`
	Amount int64 `json:"amount"`
}

var errCard = errors.New("card declined")

// shop is a handler that numbers its receipts by execution, unless do is set.
type shop struct {
	store    *calls.Faulty
	handler  *idempotent.Handler[order, receipt]
	executed atomic.Int64
	last     report.Delivery // what the observer saw last
	do       func(ctx context.Context, o order) (receipt, error)
}

func newShop(opts ...idempotent.Option) *shop {
	s := &shop{store: calls.NewFaulty(memory.New(), nil)}
	s.handler = idempotent.Wrap(func(ctx context.Context, o order) (receipt, error) {
		n := s.executed.Add(1)
		if s.do != nil {
			return s.do(ctx, o)
		}
		return receipt{Charge: n, Amount: o.Amount}, nil
	}, s.store, append([]idempotent.Option{
		idempotent.WithOperation("shop"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithFingerprint(func(o order) (any, error) { return o.ID, nil }), // so that amounts may differ
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { s.last = e }),
	}, opts...)...)
	return s
}

func assertExecuted(t *testing.T, s *shop, times int64) {
	t.Helper()
	assert.Equal(t, times, s.executed.Load(), "executions")
}

// invoker is a wrapped handler on the wire.
type invoker interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// problemsOf are what Wrap panics with.
func problemsOf(t *testing.T, wrap func()) []string {
	t.Helper()
	var found *idempotent.ConfigError
	func() {
		defer func() {
			err, ok := recover().(*idempotent.ConfigError)
			require.True(t, ok, "Wrap panics with a *ConfigError")
			found = err
		}()
		wrap()
	}()
	return found.Problems
}

// keyed names an operation and takes every event for one key.
func keyed[In any](key string) []idempotent.Option {
	return []idempotent.Option{
		idempotent.WithOperation("test"),
		idempotent.WithKey(func(In) (string, error) { return key, nil }),
	}
}

// keyOnly is for handlers whose key says everything.
func keyOnly[In any]() idempotent.Option {
	return idempotent.WithFingerprint(func(In) (any, error) { return nil, nil })
}
