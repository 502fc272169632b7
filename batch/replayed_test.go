package batch_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// A message that was handled is acknowledged, also by a version whose handler returns something
// else: nobody looks at its result.
func TestABatchNeedsNoResultOfWhatWasHandled(t *testing.T) {
	t.Parallel()
	records := memory.New()
	event := events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m-1", Body: "{}", EventSource: "aws:sqs",
		EventSourceARN: standardARN,
	}}}
	first := batch.SQS(idempotent.Wrap(func(context.Context, events.SQSMessage) (string, error) { return "text", nil },
		records,
		idempotent.WithOperation("ship")))
	out, err := first(t.Context(), event)
	require.NoError(t, err)
	require.Empty(t, out.BatchItemFailures)

	type parcel struct{ ID int }
	next := batch.SQS(idempotent.Wrap(func(context.Context, events.SQSMessage) (parcel, error) {
		t.Error("it was handled")
		return parcel{}, nil
	}, unregistered{records}, idempotent.WithOperation("ship")))
	out, err = next(t.Context(), event)
	require.NoError(t, err)
	require.Empty(t, out.BatchItemFailures)
}

// Each answer of a resolver means in a batch what it means elsewhere.
func TestABatchAsksWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	type resolution = idempotent.Resolution[string]
	for name, c := range map[string]struct {
		answer   func() (resolution, error)
		executed int
		failed   bool
	}{
		"executed":      {func() (resolution, error) { return idempotent.Executed("found"), nil }, 1, false},
		"untouched":     {func() (resolution, error) { return idempotent.Untouched[string](), nil }, 2, false},
		"still unknown": {func() (resolution, error) { return idempotent.StillUnknown[string](), nil }, 1, true},
		"nothing":       {func() (resolution, error) { return resolution{}, nil }, 1, true},
		"an error":      {func() (resolution, error) { return idempotent.Executed("found"), errDown }, 1, true},
		"a panic":       {func() (resolution, error) { panic("boom") }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executed := 0
			ship := batch.SQS(idempotent.Wrap(func(context.Context, events.SQSMessage) (string, error) {
				if executed++; executed == 1 {
					return "", idempotent.Uncertain(errDown)
				}
				return "shipped", nil
			}, memory.New(), idempotent.WithOperation("ship"), idempotent.WithResolver(
				func(context.Context, idempotent.Execution, events.SQSMessage) (resolution, error) {
					return c.answer()
				})))
			event := events.SQSEvent{Records: []events.SQSMessage{{
				MessageId: "m-1", Body: "{}", EventSource: "aws:sqs", EventSourceARN: standardARN,
			}}}
			out, err := ship(t.Context(), event)
			require.NoError(t, err)
			require.Len(t, out.BatchItemFailures, 1, "nobody was asked yet")
			for range 2 {
				out, err = ship(t.Context(), event)
				require.NoError(t, err)
				require.Equal(t, c.failed, len(out.BatchItemFailures) == 1)
				require.Equal(t, c.executed, executed)
			}
		})
	}
}

// unregistered is the store of another process.
type unregistered struct{ store.Store }
