package rows

import (
	"context"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/outbox"
)

// Mapping is the event source mapping of the function relay: it invokes the function with what is written to the outbox from now on. What an
// earlier run has left is for the function drain.
func (t Tables) Mapping(ctx context.Context, invoke func(ctx context.Context, event []byte) ([]byte, error)) (*streams.Pump, error) {
	stream, err := streams.StreamARN(ctx, t.client, t.Outbox)
	if err != nil {
		return nil, err
	}
	return &streams.Pump{
		Client: dynamolocal.StreamsClient(t.endpoint), StreamARN: stream, StartingPosition: streams.Latest,
		Filters: []string{outbox.StreamFilter}, ReportBatchItemFailures: true, Invoke: invoke,
	}, nil
}
