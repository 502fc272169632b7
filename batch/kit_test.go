package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

const (
	standardARN = "arn:aws:sqs:eu-central-1:123456789012:orders"
	fifoARN     = standardARN + ".fifo"
)

var (
	errDown     = errors.New("the warehouse is down")
	errDeclined = errors.New("the warehouse has no such article")
)

// effects are what the handlers of a test have done: the names of the records, in their order, and
// what the handlers do with each name.
type effects struct {
	mu   sync.Mutex
	done []string
	do   map[string]func(ctx context.Context) error
}

func newEffects() *effects { return &effects{do: map[string]func(context.Context) error{}} }

// on lets the handler of a record do something. What it returns is what the handler returns.
func (e *effects) on(name string, do func(ctx context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.do[name] = do
}

func (e *effects) fail(err error, names ...string) {
	for _, name := range names {
		e.on(name, func(context.Context) error { return err })
	}
}

// recover lets the handlers of records succeed again.
func (e *effects) recover(names ...string) { e.fail(nil, names...) }

// of is the effect of a record.
func (e *effects) of(ctx context.Context, name string) (string, error) {
	e.mu.Lock()
	do := e.do[name]
	e.mu.Unlock()
	if do != nil {
		if err := do(ctx); err != nil {
			return "", err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = append(e.done, name)
	return "shipped " + name, nil
}

// list returns the effects, in their order.
func (e *effects) list() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.done)
}

// sorted returns the effects as if their order did not count.
func (e *effects) sorted() []string {
	all := e.list()
	slices.Sort(all)
	return all
}

func (e *effects) ship(ctx context.Context, m events.SQSMessage) (string, error) {
	return e.of(ctx, m.Body)
}

func (e *effects) read(ctx context.Context, r events.KinesisEventRecord) (string, error) {
	return e.of(ctx, string(r.Kinesis.Data))
}

func (e *effects) change(ctx context.Context, r events.DynamoDBEventRecord) (string, error) {
	return e.of(ctx, r.Change.NewImage["name"].String())
}

func operation() idempotent.Option { return idempotent.WithOperation("ship") }

// shipping is a handler of one message on a store of its own.
func (e *effects) shipping(opts ...idempotent.Option) *idempotent.Handler[events.SQSMessage, string] {
	return idempotent.Wrap(e.ship, memory.New(), append([]idempotent.Option{operation()}, opts...)...)
}

func (e *effects) reading() *idempotent.Handler[events.KinesisEventRecord, string] {
	return idempotent.Wrap(e.read, memory.New(), operation())
}

func (e *effects) changing() *idempotent.Handler[events.DynamoDBEventRecord, string] {
	return idempotent.Wrap(e.change, memory.New(), operation())
}

// messages are those of a standard queue. The id of a message is its body with "id-" in front.
func messages(bodies ...string) events.SQSEvent {
	var e events.SQSEvent
	for _, body := range bodies {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: "id-" + body, ReceiptHandle: "handle-" + body, Body: body, EventSource: "aws:sqs",
			EventSourceARN: standardARN,
			Attributes:     map[string]string{"ApproximateReceiveCount": "3"},
		})
	}
	return e
}

// inGroups are messages of a FIFO queue. The first letter of a body is its group.
func inGroups(bodies ...string) events.SQSEvent {
	e := messages(bodies...)
	for i, body := range bodies {
		m := &e.Records[i]
		m.EventSourceARN = fifoARN
		m.Attributes = map[string]string{
			"MessageGroupId": body[:1], "MessageDeduplicationId": "dedup-" + body,
			"SequenceNumber": "1884965312500" + strconv.Itoa(1000+i),
		}
	}
	return e
}

// onShard are the records of a shard of a Kinesis stream. The first letter of the data is the
// partition key, the sequence numbers begin with first.
func onShard(first int, data ...string) events.KinesisEvent {
	var e events.KinesisEvent
	for i, text := range data {
		number := strconv.Itoa(first + i)
		e.Records = append(e.Records, events.KinesisEventRecord{
			EventID: "shardId-000000000000:" + number, EventSource: "aws:kinesis",
			Kinesis: events.KinesisRecord{PartitionKey: text[:1], Data: []byte(text), SequenceNumber: number},
		})
	}
	return e
}

// changes are those of items. The first letter of a name is the key of the item.
func changes(first int, names ...string) events.DynamoDBEvent {
	var e events.DynamoDBEvent
	for i, name := range names {
		number := strconv.Itoa(first + i)
		e.Records = append(e.Records, events.DynamoDBEventRecord{
			EventID: "event-" + name, EventName: "INSERT", EventSource: "aws:dynamodb",
			Change: events.DynamoDBStreamRecord{
				Keys:           map[string]events.DynamoDBAttributeValue{"id": events.NewStringAttribute(name[:1])},
				NewImage:       map[string]events.DynamoDBAttributeValue{"name": events.NewStringAttribute(name)},
				SequenceNumber: number,
			},
		})
	}
	return e
}

// again returns the identifiers of an answer, which the function gives Lambda as JSON, and checks
// the form of it.
func again(t *testing.T, answer any) (identifiers []string) {
	t.Helper()
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	var form struct {
		BatchItemFailures []map[string]string `json:"batchItemFailures"`
	}
	require.NoError(t, json.Unmarshal(text, &form))
	require.NotNil(t, form.BatchItemFailures, "a list: %s", text)
	for _, failure := range form.BatchItemFailures {
		require.Len(t, failure, 1)
		require.NotEmpty(t, failure["itemIdentifier"], "%s", text)
		identifiers = append(identifiers, failure["itemIdentifier"])
	}
	return identifiers
}

// received hands a batch to the function of a queue. It returns the bodies of the messages that
// come again.
func received(t *testing.T, function func(context.Context, events.SQSEvent) (events.SQSEventResponse, error),
	e events.SQSEvent,
) (bodies []string) {
	t.Helper()
	answer, err := function(t.Context(), e)
	require.NoError(t, err)
	for _, id := range again(t, answer) {
		bodies = append(bodies, strings.TrimPrefix(id, "id-"))
	}
	return bodies
}

// into returns observers that keep the last report.
func into(all ...*report.Batch) (observers []func(context.Context, report.Batch)) {
	for _, last := range all {
		observers = append(observers, func(_ context.Context, r report.Batch) { *last = r })
	}
	return observers
}
