package operate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// bank is a provider that knows its charges by their key.
type bank struct{ byKey map[string]string }

func (b bank) find(_ context.Context, key string) (charge string, found bool, err error) {
	charge, found = b.byKey[key]
	return charge, found, nil
}

// A charge may have happened, and its client has given up. A function for a schedule asks the
// provider, and settles it.
func ExampleReconcile() {
	type order struct{ ID string }
	ctx, records, provider := context.Background(), memory.New(), bank{map[string]string{}}
	handler := idempotent.Wrap(func(ctx context.Context, o order) (string, error) {
		provider.byKey[idempotent.DerivedKey(ctx, "charge")] = "ch_" + o.ID
		return "", idempotent.Uncertain(errors.New("no answer from the provider"))
	}, records, idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	_, err := handler.Handle(ctx, order{ID: "1"})
	fmt.Println("first:", err)

	resolver := func(ctx context.Context, x idempotent.Execution) (idempotent.Resolution[string], error) {
		charge, found, err := provider.find(ctx, x.DerivedKey("charge"))
		switch {
		case err != nil:
			return idempotent.StillUnknown[string](), err // asked again later
		case !found:
			return idempotent.Untouched[string](), nil // the next request executes
		default:
			return idempotent.Executed(charge), nil // what the handler would have returned
		}
	}
	reconciler := operate.Reconcile(handler, resolver, operate.ReconcileConfig{
		How: idempotent.Reconciling{FirstPause: time.Minute, LongestPause: time.Hour, MaxTries: 30},
	})
	told, err := reconciler.Run(ctx) // on Lambda: lambda.Start(reconciler.Run)
	fmt.Println("completed:", told.Completed, err)

	receipt, err := handler.Handle(ctx, order{ID: "1"})
	fmt.Println("retry:", receipt, err)
	// Output:
	// first: no answer from the provider
	// completed: 1 <nil>
	// retry: ch_1 <nil>
}

// The event of a webhook is only a hint: what counts is what the provider answers when it is asked,
// under a claim of the record.
func ExampleReconcile_webhook() {
	type order struct{ ID string }
	ctx, records := context.Background(), memory.New()
	handler := idempotent.Wrap(func(context.Context, order) (string, error) {
		return "", idempotent.Uncertain(errors.New("no answer from the provider"))
	}, records, idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	_, err := handler.Handle(ctx, order{ID: "1"})
	fmt.Println("first:", err)
	d, err := handler.Describe(ctx, order{ID: "1"})
	if err != nil {
		panic(err)
	}
	resolver := func(context.Context, idempotent.Execution) (idempotent.Resolution[string], error) {
		return idempotent.Executed("ch_1"), nil
	}

	recordKey := d.RecordKey // of the metadata of the event
	done, err := handler.Reconcile(ctx, recordKey, resolver, idempotent.Reconciling{})
	fmt.Println(done.Outcome, err)
	// Output:
	// first: no answer from the provider
	// completed <nil>
}

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
