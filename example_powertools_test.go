package idempotent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// A function that takes over from one in Python, on the same table: the record is the one that the Python function reads and
// writes for this order, whichever of the two executes it.
func ExampleWithPowertools() {
	store := memory.New() // dynamo.New(client, "the table of the Python function")
	handler := idempotent.Wrap(func(context.Context, json.RawMessage) (map[string]string, error) {
		return map[string]string{"charge": "ch_1"}, nil
	}, store,
		idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsPython,
			Prefix:   "orders-fn.app.handler", // the function's name, module and qualified name, or its key_prefix
		}),
		idempotent.WithKeyPath("order_id"),
		idempotent.WithFingerprintPath("amount"))

	ctx := context.Background()
	if _, err := handler.Invoke(ctx, []byte(`{"order_id":"o-1","amount":1999}`)); err != nil {
		fmt.Println(err)
	}
	record, _, err := store.Get(ctx, "orders-fn.app.handler#cbcbdb948de16bfe7e49a81f91500ab1")
	fmt.Println(record.Status, string(record.Result), record.Fingerprint, err)
	// Output:
	// COMPLETED {"charge":"ch_1"} 5ec829debe54b19a5f78d9a65b900a39 <nil>
}
