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

// unregistered is the store of another process.
type unregistered struct{ store.Store }
