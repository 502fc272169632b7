package memory_test

import (
	"context"
	"fmt"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

func Example() {
	charge := func(_ context.Context, o order) (string, error) {
		fmt.Println("charging", o.Amount)
		return "ch_1", nil
	}
	handler := idempotent.Wrap(charge, memory.New(),
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))

	for range 2 { // the client retries
		receipt, err := handler.Handle(context.Background(), order{ID: "order-1", Amount: 1200})
		fmt.Println(receipt, err)
	}
	// Output:
	// charging 1200
	// ch_1 <nil>
	// ch_1 <nil>
}
