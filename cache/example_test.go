package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// table stands for dynamo.New(client, table), and has an outage after the first payment.
type table struct {
	*memory.Store
	outage bool
}

func (t *table) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if t.outage {
		return store.Record{}, false, errors.New("the table cannot be reached")
	}
	return t.Store.Claim(ctx, r, now)
}

type payment struct {
	Order  string
	Amount int
}

// A client retries, and again while the table cannot be reached. It gets its answer all the same,
// because the sandbox has it since the first retry.
func Example() {
	table := &table{Store: memory.New()}
	charge := func(_ context.Context, p payment) (string, error) {
		fmt.Println("charging", p.Amount)
		return "receipt of " + p.Order, nil
	}
	handler := idempotent.Wrap(charge, cache.New(table, 16<<20), // bytes
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(p payment) (string, error) { return p.Order, nil }),
		idempotent.WithFingerprint(func(p payment) (any, error) { return p.Amount, nil }),
		idempotent.WithTiming(idempotent.Timing{ClaimBudget: 300 * time.Millisecond}))

	for n, p := range []payment{
		{"order-1", 1200},
		{"order-1", 1200},
		{"order-1", 1200},
		{"order-1", 9900},
		{"order-2", 500},
	} {
		receipt, err := handler.Handle(context.Background(), p)
		switch {
		case errors.Is(err, idempotent.ErrMismatch):
			fmt.Println("another payment under the same key")
		case errors.Is(err, idempotent.ErrStoreUnavailable):
			fmt.Println("try again later")
		default:
			fmt.Println(receipt)
		}
		table.outage = n > 0
	}
	// Output:
	// charging 1200
	// receipt of order-1
	// receipt of order-1
	// receipt of order-1
	// another payment under the same key
	// try again later
}
