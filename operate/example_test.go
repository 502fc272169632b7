package operate_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
)

// A charge may have happened: nobody knows. An operator asks the provider, and says what it found.
func Example() {
	type order struct{ ID string }
	ctx, records := context.Background(), memory.New()
	answer := idempotent.Uncertain(errors.New("no answer from the provider"))
	handler := idempotent.Wrap(func(ctx context.Context, _ order) (string, error) {
		_ = idempotent.DerivedKey(ctx, "charge") // goes with the request to the provider
		return "ch_1", answer
	}, records, idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))

	_, err := handler.Handle(ctx, order{ID: "order-1"})
	fmt.Println("first:", err)
	_, err = handler.Handle(ctx, order{ID: "order-1"})
	fmt.Println("retry:", errors.Is(err, idempotent.ErrUnknownOutcome))

	o := operate.New(records)
	for found, err := range o.List(ctx, operate.Query{}) {
		if err != nil {
			panic(err)
		}
		shown, err := o.Inspect(ctx, found.Record.Key)
		if err != nil {
			panic(err)
		}
		fmt.Println(shown.State, shown.Record.Reason, shown.Record.Derived)
		entry, err := o.Settle(ctx, shown, operate.NotExecuted(),
			operate.Act{By: "dana", Why: "the provider knows no such charge"})
		if err != nil {
			panic(err)
		}
		fmt.Println(entry.Action, "→", entry.After.State)
	}

	answer = nil
	receipt, err := handler.Handle(ctx, order{ID: "order-1"})
	fmt.Println("retry:", receipt, err)
	// Output:
	// first: no answer from the provider
	// retry: true
	// unknown uncertain [charge]
	// settle as not executed → released
	// retry: ch_1 <nil>
}

// A step may have begun: nobody knows. An operator asks the provider, and says what the step would
// have returned. What was recorded before does not run again.
func ExampleStepExecuted() {
	type order struct{ ID string }
	ctx, records := context.Background(), memory.New()
	answer := idempotent.Uncertain(errors.New("no answer from the provider"))
	handler := idempotent.Wrap(func(ctx context.Context, _ order) (string, error) {
		reservation, err := idempotent.Step(ctx, "reserve", func(context.Context) (string, error) {
			fmt.Println("reserving")
			return "r_1", nil
		})
		if err != nil {
			return "", err
		}
		charge, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) {
			fmt.Println("charging")
			return "", answer
		}, idempotent.AtMostOnce[string](nil))
		return reservation + " " + charge, err
	}, records, idempotent.WithOperation("order"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))

	_, err := handler.Handle(ctx, order{ID: "order-1"})
	fmt.Println("first:", err)

	o := operate.New(records)
	for found, err := range o.List(ctx, operate.Query{}) {
		if err != nil {
			panic(err)
		}
		shown, err := o.Inspect(ctx, found.Record.Key)
		if err != nil {
			panic(err)
		}
		for _, s := range shown.Steps() {
			fmt.Println(s.Name, s.State)
		}
		_, err = o.Settle(ctx, shown, operate.StepExecuted("charge", []byte(`"ch_1"`)),
			operate.Act{By: "dana", Why: "the provider has ch_1"})
		if err != nil {
			panic(err)
		}
	}

	receipt, err := handler.Handle(ctx, order{ID: "order-1"})
	fmt.Println("retry:", receipt, err)
	// Output:
	// reserving
	// charging
	// first: no answer from the provider
	// charge open
	// reserve recorded
	// retry: r_1 ch_1 <nil>
}
