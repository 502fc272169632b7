package stack_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/outbox"
)

// handed are the records that were handed to a function, by their sequence numbers.
type handed struct {
	mu      sync.Mutex
	records map[string]events.DynamoDBEventRecord
}

func (h *handed) note(event events.DynamoDBEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range event.Records {
		h.records[r.Change.SequenceNumber] = r
	}
}

// numbers are the sequence numbers of the records of a kind.
func (h *handed) numbers(of func(events.DynamoDBEventRecord) bool) (numbers []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n, r := range h.records {
		if of(r) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// start runs the template's mapping on the stream of the outbox until the test ends, with filters. It notes what is handed over.
func (m *mailing) start(filters []string, function func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)) (*streams.Pump, *handed) {
	m.t.Helper()
	mapping := mappingOf(m.t)
	client, endpoint := dynamolocal.Client(dynamolocal.Endpoint(m.t)), dynamolocal.Endpoint(m.t)
	arn, err := streams.StreamARN(m.t.Context(), client, m.table)
	require.NoError(m.t, err)
	noted := &handed{records: map[string]events.DynamoDBEventRecord{}}
	pump := &streams.Pump{
		Client: dynamolocal.StreamsClient(endpoint), StreamARN: arn, Poll: 5 * time.Millisecond, Pause: time.Millisecond,
		Filters: filters, BatchSize: mapping("BatchSize").(int), ReportBatchItemFailures: true, BisectBatchOnFunctionError: true,
		MaximumRetryAttempts: aws.Int(mapping("MaximumRetryAttempts").(int)),
		OnFailure:            func(d streams.Discarded) { assert.Fail(m.t, "given up", "%+v", d) },
		Invoke: func(ctx context.Context, payload []byte) ([]byte, error) {
			var event events.DynamoDBEvent
			if err := json.Unmarshal(payload, &event); err != nil {
				return nil, err
			}
			noted.note(event)
			answer, err := function(ctx, event)
			if err != nil {
				return nil, err
			}
			return json.Marshal(answer)
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(m.t, pump.Run(ctx)) })
	m.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return pump, noted
}

// everything takes all records of a stream and does nothing with them.
func everything(context.Context, events.DynamoDBEvent) (answer events.DynamoDBEventResponse, err error) {
	return answer, nil
}

// TestTheFilterTakesMessagesThatNobodyHasTriedAndNothingElse plays what can happen to messages, and compares what the template's filter takes of
// the stream with the whole of it.
func TestTheFilterTakesMessagesThatNobodyHasTriedAndNothingElse(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.refuses, m.forGood = []string{`"failing"`}, []string{`"poison"`}
	m.commit("late")
	_, err := m.relay(outbox.WithGrace(0)).Drain(t.Context())
	require.NoError(t, err)

	var unasked atomic.Int64 // records that a relay has nothing to do with
	relay := m.relay(outbox.WithObserver(func(_ context.Context, r outbox.Report) { unasked.Add(int64(r.Skipped + r.Foreign)) }))
	filters := []string{mappingOf(t)("FilterCriteria", "Filters", 0, "Pattern").(string)} // and not a text from elsewhere
	require.Equal(t, []any{map[string]any{"Pattern": outbox.StreamFilter}}, mappingOf(t)("FilterCriteria", "Filters"))
	mapping, taken := m.start(filters, relay.Stream)
	whole, all := m.start(nil, everything)
	settle := func() {
		t.Helper()
		require.NoError(t, mapping.Idle(t.Context()))
		require.NoError(t, whole.Idle(t.Context()))
	}
	m.commit("fine", "failing", "poison")
	settle()
	m.accept()
	m.redrive()
	m.commit("fine") // a later generation of the same message
	m.write(dynamodb.PutItemInput{Item: idOf("no message")})
	settle()
	m.write(dynamodb.DeleteItemInput{Key: idOf("no message")})
	settle()

	require.ElementsMatch(t, all.numbers(isNewMessage), taken.numbers(func(events.DynamoDBEventRecord) bool { return true }))
	require.Len(t, all.numbers(isNewMessage), 6, "four messages, one again, one redriven")
	require.Zero(t, unasked.Load())
	require.ElementsMatch(t, []string{`"late"`, `"late"`, `"fine"`, `"poison"`, `"fine"`}, m.delivered, "the image of what a drain has delivered is new, too")
	for _, kind := range []func(events.DynamoDBEventRecord) bool{isDone, isTried, isParked, isRemoved} {
		require.NotEmpty(t, all.numbers(kind), "it has not happened")
	}
}

func has(r events.DynamoDBEventRecord, attribute string) bool {
	_, is := r.Change.NewImage[attribute]
	return is
}

func isRemoved(r events.DynamoDBEventRecord) bool { return r.EventName == "REMOVE" }
func isDone(r events.DynamoDBEventRecord) bool    { return has(r, "done_at") }
func isTried(r events.DynamoDBEventRecord) bool   { return has(r, "tries") && !isParked(r) }
func isParked(r events.DynamoDBEventRecord) bool  { return has(r, "parked_at") }
func isNewMessage(r events.DynamoDBEventRecord) bool {
	return (r.EventName == "INSERT" || r.EventName == "MODIFY") && has(r, "outbox_due") && !has(r, "tries")
}

func idOf(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
}

// write writes an item of the outbox, or removes one, as neither a commit nor a relay does.
func (m *mailing) write(in any) {
	m.t.Helper()
	client, err := dynamolocal.Client(dynamolocal.Endpoint(m.t)), error(nil)
	switch in := in.(type) {
	case dynamodb.PutItemInput:
		in.TableName = aws.String(m.table)
		_, err = client.PutItem(m.t.Context(), &in)
	case dynamodb.DeleteItemInput:
		in.TableName = aws.String(m.table)
		_, err = client.DeleteItem(m.t.Context(), &in)
	}
	require.NoError(m.t, err)
}

// redrive redrives every message that is parked, of which there is one at least.
func (m *mailing) redrive() {
	m.t.Helper()
	client, found := dynamolocal.Client(dynamolocal.Endpoint(m.t)), 0
	for p, err := range outbox.Parked(m.t.Context(), client, m.table) {
		require.NoError(m.t, err)
		require.NoError(m.t, outbox.Redrive(m.t.Context(), client, m.table, p, act.By, act.Why))
		found++
	}
	require.Positive(m.t, found)
}
