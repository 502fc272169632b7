package rows

import (
	"context"

	"github.com/go-idempotent/idempotent/internal/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/streampump"
	"github.com/go-idempotent/idempotent/outbox"
)

// Mapping is the event source mapping of the function relay: it invokes the function with what is written to the outbox from now on. What an
// earlier run has left is for the function drain.
func (t Tables) Mapping(ctx context.Context, invoke func(ctx context.Context, event []byte) ([]byte, error)) (*streampump.Pump, error) {
	stream, err := streampump.StreamARN(ctx, t.client, t.Outbox)
	if err != nil {
		return nil, err
	}
	return &streampump.Pump{
		Client: dynamolocal.StreamsClient(t.endpoint), StreamARN: stream, StartingPosition: streampump.Latest,
		Filters: []string{outbox.StreamFilter}, ReportBatchItemFailures: true, Invoke: invoke,
	}, nil
}
