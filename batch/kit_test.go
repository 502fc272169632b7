package batch_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
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

// on lets the handler of a record do something. What it returns is what the handler returns.
func (e *effects) on(name string, do func(ctx context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.do[name] = do
}

func (e *effects) fail(err error, names ...string) { e.takes(0, err, names...) }

// takes lets the handlers of records return an error, or none, after some time.
func (e *effects) takes(d time.Duration, err error, names ...string) {
	for _, name := range names {
		e.on(name, func(context.Context) error { time.Sleep(d); return err })
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
func (e *effects) sorted() []string { return slices.Sorted(slices.Values(e.list())) }

func operation() idempotent.Option { return idempotent.WithOperation("ship") }

type (
	queueConfig  = batch.Config[events.SQSMessage]
	streamConfig = batch.Config[events.KinesisEventRecord]
	topicConfig  = batch.Config[events.KafkaRecord]
)

// line is a queue or a stream, of which a handler on a store of its own works through the batches.
type line[R, Event, Answer any] struct {
	*effects

	t        *testing.T
	records  store.Store
	handler  *idempotent.Handler[R, string]
	function func(context.Context, Event) (Answer, error)
	report   report.Batch // of the last batch
}

// lineOf makes a line of a function of package batch, and of the name of a record.
func lineOf[R, Event, Answer any](t *testing.T,
	batches func(*idempotent.Handler[R, string], ...batch.Config[R]) func(context.Context, Event) (Answer, error),
	name func(R) string, c batch.Config[R], opts []idempotent.Option,
) *line[R, Event, Answer] {
	t.Helper()
	l := &line[R, Event, Answer]{
		effects: &effects{do: map[string]func(context.Context) error{}}, t: t, records: memory.New(),
	}
	l.handler = idempotent.Wrap(func(ctx context.Context, r R) (string, error) { return l.of(ctx, name(r)) }, l.records,
		append([]idempotent.Option{operation()}, opts...)...)
	c.Observers = append(c.Observers, func(_ context.Context, r report.Batch) { l.report = r })
	l.function = batches(l.handler, c)
	return l
}

func queue(
	t *testing.T, c queueConfig, opts ...idempotent.Option,
) *line[events.SQSMessage, events.SQSEvent, events.SQSEventResponse] {
	t.Helper()
	return lineOf(t, batch.SQS[string], nameOfMessage, c, opts)
}

func shard(
	t *testing.T, c streamConfig, opts ...idempotent.Option,
) *line[events.KinesisEventRecord, events.KinesisEvent, events.KinesisEventResponse] {
	t.Helper()
	return lineOf(t, batch.Kinesis[string], nameOfRecord, c, opts)
}

func table(
	t *testing.T,
) *line[events.DynamoDBEventRecord, events.DynamoDBEvent, events.DynamoDBEventResponse] {
	t.Helper()
	return lineOf(t, batch.DynamoDB[string], nameOfChange, batch.Config[events.DynamoDBEventRecord]{}, nil)
}

func nameOfMessage(m events.SQSMessage) string         { return m.Body }
func nameOfRecord(r events.KinesisEventRecord) string  { return string(r.Kinesis.Data) }
func nameOfChange(r events.DynamoDBEventRecord) string { return r.Change.NewImage["name"].String() }

func topic(
	t *testing.T, c topicConfig, opts ...idempotent.Option,
) *line[events.KafkaRecord, events.KafkaEvent, batch.KafkaEventResponse] {
	t.Helper()
	value := func(r events.KafkaRecord) string {
		text, err := base64.StdEncoding.DecodeString(r.Value)
		require.NoError(t, err)
		return string(text)
	}
	return lineOf(t, batch.Kafka[string], value, c, opts)
}

// again hands a batch to the function, and returns the identifiers of those that come again, those
// of messages without the "id-" in front.
func (l *line[R, Event, Answer]) again(e Event) []string {
	l.t.Helper()
	return l.in(l.t.Context(), e)
}

// within is again with a deadline.
func (l *line[R, Event, Answer]) within(d time.Duration, e Event) []string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), d)
	defer cancel()
	return l.in(ctx, e)
}

func (l *line[R, Event, Answer]) in(ctx context.Context, e Event) []string {
	l.t.Helper()
	answer, err := l.function(ctx, e)
	require.NoError(l.t, err)
	return identifiers(l.t, answer)
}

// handed hands over a batch in which the handlers of some records fail, and the same once more,
// when none does. It tells what has come again and what was done the first time: in the end each
// record was executed once.
func (l *line[R, Event, Answer]) handed(e Event, fail ...string) string {
	l.t.Helper()
	l.fail(errDown, fail...)
	again, done := l.again(e), l.sorted()
	l.recover(fail...)
	require.Empty(l.t, l.again(e))
	require.Len(l.t, slices.Compact(l.sorted()), l.report.Records)
	require.Len(l.t, l.list(), l.report.Records)
	return fmt.Sprintf("%s again, %s done", strings.Join(again, " "), strings.Join(done, " "))
}

// elsewhere lets another invocation run the handler of a record.
func (l *line[R, Event, Answer]) elsewhere(r R) (ended chan error) {
	l.t.Helper()
	ended = make(chan error, 1)
	go func() {
		_, err := l.handler.Handle(context.Background(), r)
		ended <- err
	}()
	synctest.Wait()
	return ended
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

// identifiers are those of an answer, which the function gives Lambda as JSON in the form that is
// checked here. One of Kafka has a colon between the partition and the offset.
func identifiers(t *testing.T, answer any) (all []string) {
	t.Helper()
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	var form struct {
		BatchItemFailures []map[string]any `json:"batchItemFailures"`
	}
	require.NoError(t, json.Unmarshal(text, &form))
	require.NotNil(t, form.BatchItemFailures, "a list: %s", text)
	for _, failure := range form.BatchItemFailures {
		require.Len(t, failure, 1)
		switch id := failure["itemIdentifier"].(type) {
		case string:
			require.NotEmpty(t, id, "%s", text)
			all = append(all, strings.TrimPrefix(id, "id-"))
		case map[string]any:
			require.Len(t, id, 2, "%s", text)
			all = append(all, fmt.Sprintf("%v:%v", id["partition"], id["offset"]))
		default:
			require.Fail(t, "no identifier", "%s", text)
		}
	}
	return all
}
