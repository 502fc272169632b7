package idempotent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// recordKeys returns a function that says which record belongs to an event, of a handler without an
// option for the key.
func recordKeys[In any](t *testing.T, opts ...idempotent.Option) func(in In) string {
	t.Helper()
	h := idempotent.Wrap(func(context.Context, In) (string, error) { return "", nil }, memory.New(),
		append(opts, idempotent.WithOperation("ship"), keyOnly[In]())...)
	return func(in In) string {
		d, err := h.Describe(t.Context(), in)
		require.NoError(t, err)
		return d.RecordKey
	}
}

func TestTheKeyOfAMessageIsItsID(t *testing.T) {
	t.Parallel()
	key := recordKeys[events.SQSMessage](t)
	byHand := recordKeys[events.SQSMessage](t,
		idempotent.WithKey(func(m events.SQSMessage) (string, error) { return m.MessageId, nil }))
	m := events.SQSMessage{
		MessageId: "m-1", ReceiptHandle: "r-1", Body: "a",
		Attributes: map[string]string{"ApproximateReceiveCount": "1"},
	}
	require.Equal(t, byHand(m), key(m))
	again := events.SQSMessage{
		MessageId: "m-1", ReceiptHandle: "r-2", Body: "a",
		Attributes: map[string]string{"ApproximateReceiveCount": "2"},
	}
	require.Equal(t, key(m), key(again))
	again.MessageId = "m-2"
	require.NotEqual(t, key(m), key(again))
	require.Equal(t, key(m), recordKeys[*events.SQSMessage](t)(&m))
}

// fifo is a message of a FIFO queue.
func fifo(id, group, deduplication string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: id, Body: "a",
		Attributes: map[string]string{"MessageGroupId": group, "MessageDeduplicationId": deduplication},
	}
}

func TestTheKeyOfAFIFOMessageIsItsDeduplicationIDWithinItsGroup(t *testing.T) {
	t.Parallel()
	key := recordKeys[events.SQSMessage](t)
	first := key(fifo("m-1", "g", "d"))
	require.Equal(t, first, key(fifo("m-2", "g", "d")), "the producer has sent it again, after more than five minutes")
	require.NotEqual(t, first, key(fifo("m-1", "g", "e")))
	require.NotEqual(t, first, key(fifo("m-1", "h", "d")), "groups can have ids of their own")
	require.NotEqual(t, key(fifo("m-1", "g", "1:hd")), key(fifo("m-1", "g1:h", "d")))
	elsewhere := fifo("m-1", "g", "d")
	elsewhere.EventSourceARN = "arn:aws:sqs:eu-central-1:123456789012:other.fifo"
	require.NotEqual(t, first, key(elsewhere), "queues have ids of their own")

	// SQS made this id of the body: next week the same body may be another order.
	sum := sha256.Sum256([]byte("a"))
	contentBased := hex.EncodeToString(sum[:])
	require.NotEqual(t, key(fifo("m-1", "g", contentBased)), key(fifo("m-2", "g", contentBased)))
	require.Equal(t, key(events.SQSMessage{MessageId: "m-1", Body: "a"}), key(fifo("m-1", "g", contentBased)))
}

func TestTheKeyOfARecordOfAStreamIsItsEventID(t *testing.T) {
	t.Parallel()
	kinesis := recordKeys[events.KinesisEventRecord](t)
	r := events.KinesisEventRecord{
		EventID: "shardId-0:1", InvokeIdentityArn: "a",
		Kinesis: events.KinesisRecord{SequenceNumber: "1"},
	}
	again := r
	again.InvokeIdentityArn = "b"
	require.Equal(t, kinesis(r), kinesis(again))
	require.Equal(t, kinesis(r), recordKeys[*events.KinesisEventRecord](t)(&r))
	again.EventID = "shardId-0:2"
	require.NotEqual(t, kinesis(r), kinesis(again))
	again = r
	again.EventSourceArn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders"
	require.NotEqual(t, kinesis(r), kinesis(again), "streams have shards of their own")
	fanOut := again
	fanOut.EventSourceArn += "/consumer/ship:1700000000"
	require.Equal(t, kinesis(again), kinesis(fanOut))

	stream := recordKeys[events.DynamoDBEventRecord](t)
	require.Equal(t, stream(events.DynamoDBEventRecord{EventID: "1", EventName: "INSERT"}),
		stream(events.DynamoDBEventRecord{EventID: "1"}))
	require.NotEqual(t, stream(events.DynamoDBEventRecord{EventID: "1"}),
		stream(events.DynamoDBEventRecord{EventID: "2"}))
}

func TestARecordWithoutAnIDHasNoKey(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, *events.SQSMessage) (string, error) { return "", nil }
	h := idempotent.Wrap(handler, memory.New(), idempotent.WithOperation("ship"))
	for _, m := range []*events.SQSMessage{nil, {}} {
		_, err := h.Handle(t.Context(), m)
		require.ErrorIs(t, err, idempotent.ErrMissingKey)
	}
	_, err := idempotent.Wrap(func(context.Context, events.KinesisEventRecord) (string, error) { return "", nil },
		memory.New(),
		idempotent.WithOperation("ship")).Handle(t.Context(), events.KinesisEventRecord{EventSourceArn: "arn"})
	require.ErrorIs(t, err, idempotent.ErrMissingKey)
	require.Equal(t, []string{"WithOperation: a handler of *events.SQSMessage must name its operation"},
		problemsOf(t, func() { idempotent.Wrap(handler, memory.New()) }))
}

func TestAnOptionComesBeforeTheKeyOfARecord(t *testing.T) {
	t.Parallel()
	m := fifo("m-1", "g", "d")
	body := recordKeys[events.SQSMessage](t, idempotent.WithKeyPath("body"))
	require.Equal(t, body(m), body(fifo("m-2", "h", "e")))
}

// The whole message has a receipt handle, which is another one each time.
func TestARecordSharedWithAWSPowertoolsNeedsAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, problems := range [][]string{
		powertoolsProblems[events.SQSMessage](t),
		powertoolsProblems[*events.KinesisEventRecord](t), powertoolsProblems[events.DynamoDBEventRecord](t),
	} {
		require.Len(t, problems, 1)
		require.Contains(t, problems[0], "and it differs in each delivery")
	}
}

func powertoolsProblems[In any](t *testing.T) []string {
	t.Helper()
	return problemsOf(t, func() {
		idempotent.Wrap(func(context.Context, In) (string, error) { return "", nil }, memory.New(),
			idempotent.WithPowertools(idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p"}))
	})
}
