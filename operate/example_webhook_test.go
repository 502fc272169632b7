package operate_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
)

// An event of Stripe names the idempotency key of the request that has caused it. That is a derived
// key, so it finds the record of which nobody knows, and the event settles it. Check the signature
// of the event before.
func ExampleOperator_Settle_webhook() {
	type order struct{ ID string }
	ctx, records := context.Background(), memory.New()
	var sent string // to Stripe, as the idempotency key
	handler := idempotent.Wrap(func(ctx context.Context, _ order) (string, error) {
		sent = idempotent.DerivedKey(ctx, "charge")
		return "", idempotent.Uncertain(errors.New("no answer"))
	}, records, idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	_, err := handler.Handle(ctx, order{ID: "1"})
	fmt.Println("first:", err)

	// {"type":"charge.succeeded","data":{"object":{"id":"ch_1"}},"request":{"idempotency_key":"…"}}
	operator := operate.New(records)
	shown, _, err := operator.FindDerived(ctx, "charge", sent)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = operator.Settle(ctx, shown, operate.Executed([]byte(`"ch_1"`)), operate.Act{
		By: "stripe-webhook", Operation: "charge", Why: "event evt_1: the charge ch_1 has succeeded",
	})
	fmt.Println("settled:", err)

	receipt, err := handler.Handle(ctx, order{ID: "1"})
	fmt.Println("retry:", receipt, err)
	// Output:
	// first: no answer
	// settled: <nil>
	// retry: ch_1 <nil>
}
