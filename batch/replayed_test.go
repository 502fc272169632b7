package batch_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/store"
)

// A message that was handled is acknowledged, also by a version whose handler returns something
// else: nobody looks at its result.
func TestABatchNeedsNoResultOfWhatWasHandled(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	require.Empty(t, q.again(messages("a")))

	type parcel struct{ ID int }
	next := batch.SQS(idempotent.Wrap(func(context.Context, events.SQSMessage) (parcel, error) {
		t.Error("it was handled")
		return parcel{}, nil
	}, unregistered{q.records}, operation()))
	answer, err := next(t.Context(), messages("a"))
	require.NoError(t, err)
	require.Empty(t, identifiers(t, answer))
}

// Each answer of a resolver means in a batch what it means elsewhere.
func TestABatchAsksWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	type resolution = idempotent.Resolution[string]
	for name, c := range map[string]struct {
		answer   func() (resolution, error)
		executed int
		want     []string
	}{
		"executed":  {func() (resolution, error) { return idempotent.Executed("found"), nil }, 1, nil},
		"untouched": {func() (resolution, error) { return idempotent.Untouched[string](), nil }, 2, nil},
		"still unknown": {
			func() (resolution, error) { return idempotent.StillUnknown[string](), nil },
			1,
			[]string{"a"},
		},
		"nothing": {func() (resolution, error) { return resolution{}, nil }, 1, []string{"a"}},
		"an error": {
			func() (resolution, error) { return idempotent.Executed("found"), errDown },
			1,
			[]string{"a"},
		},
		"a panic": {func() (resolution, error) { panic("boom") }, 1, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := queue(t, queueConfig{}, idempotent.WithResolver(
				func(context.Context, idempotent.Execution, events.SQSMessage) (resolution, error) {
					return c.answer()
				}))
			executed := 0
			q.on("a", func(context.Context) error {
				if executed++; executed == 1 {
					return idempotent.Uncertain(errDown)
				}
				return nil
			})
			require.Equal(t, []string{"a"}, q.again(messages("a")), "nobody was asked yet")
			for range 2 {
				require.Equal(t, c.want, q.again(messages("a")))
				require.Equal(t, c.executed, executed)
			}
		})
	}
}

// unregistered is the store of another process.
type unregistered struct{ store.Store }
