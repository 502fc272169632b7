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
