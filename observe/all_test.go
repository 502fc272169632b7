package observe_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
)

func TestAllObserversSeeTheEventInTheirOrder(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	var seen []string
	named := func(name string) func(context.Context, idempotent.Event) {
		return func(ctx context.Context, e idempotent.Event) {
			assert.Equal(t, "value", ctx.Value(key{}))
			seen = append(seen, name+" "+e.Operation)
		}
	}
	observers := []func(context.Context, idempotent.Event){named("first"), named("second")}
	all := observe.All(observers...)
	observers[0] = nil // it does not matter any more
	all(ctx, idempotent.Event{Operation: "charge"})
	assert.Equal(t, []string{"first charge", "second charge"}, seen)
	observe.All()(ctx, idempotent.Event{})
}

func TestNilObserverIsAConfigurationError(t *testing.T) {
	t.Parallel()
	some := func(context.Context, idempotent.Event) {}
	config := configErrorOf(t, func() { observe.All(nil, some, nil) })
	assert.Equal(t, []string{"observe.All: observer 1 is nil", "observe.All: observer 3 is nil"}, config.Problems)
}
