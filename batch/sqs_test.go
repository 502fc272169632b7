package batch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

func TestOnlyWhatFailedComesAgainAndEachEffectHappensOnce(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	q.fail(errDown, "b", "d")
	require.Equal(t, []string{"b", "d"}, q.again(messages("a", "b", "c", "d", "e")))
	require.Equal(t, []string{"a", "c", "e"}, q.sorted())
	q.recover("b")
	require.Equal(t, []string{"d"}, q.again(messages("b", "d", "a")), "a is replayed")
	q.recover("d")
	require.Empty(t, q.again(messages("d", "b")))
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, q.sorted())
}

func TestAnEmptyEventHasAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	require.Empty(t, queue(t, queueConfig{}).again(events.SQSEvent{}))
	require.Empty(t, shard(t, streamConfig{}).again(events.KinesisEvent{}))
	require.Empty(t, table(t).again(events.DynamoDBEvent{}))
	require.Empty(t, topic(t, topicConfig{}).again(events.KafkaEvent{}))
}

// Nothing could name such a record, and Lambda takes an empty identifier for the failure of
// everything.
func TestARecordWithoutAnIDIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	ofQueue := messages("a", "b")
	ofQueue.Records[1].MessageId, ofQueue.Records[1].EventSource = "", "aws:kinesis"
	_, err := q.function(t.Context(), ofQueue)
	require.EqualError(t, err,
		`batch.SQS: record 1 of the event has no id by which an answer could name it; it says that it comes from "aws:kinesis": `+
			"look at the event source of the function")
	require.Equal(t,
		report.Batch{Operation: "ship", Source: "sqs", Records: 2, Took: q.report.Took, Err: err}, q.report)
	require.Empty(t, q.list())

	s, ofStream := shard(t, streamConfig{}), onShard(1, "a", "b")
	ofStream.Records[0].Kinesis.SequenceNumber = ""
	_, err = s.function(t.Context(), ofStream)
	require.ErrorContains(t, err, "batch.Kinesis: record 0 ")
	require.Empty(t, s.list())

	d, ofTable := table(t), changes(1, "a", "b")
	ofTable.Records[0].Change.SequenceNumber = ""
	_, err = d.function(t.Context(), ofTable)
	require.ErrorContains(t, err, "batch.DynamoDB: record 0 ")
	require.Empty(t, d.list())
}

func TestTheHandlersContextKnowsItsDelivery(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	var key string
	q.on("a", func(ctx context.Context) error { key = idempotent.DerivedKey(ctx, "ship"); return nil })
	require.Empty(t, q.again(messages("a")))
	d, err := q.handler.Describe(t.Context(), messages("a").Records[0])
	require.NoError(t, err)
	require.Equal(t, d.DerivedKey("ship"), key)
}

func TestProtectionThatIsTurnedOffRunsEachRecord(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{}, idempotent.WithDisabled(true))
	q.fail(errors.Join(errDown, idempotent.Terminal(errDeclined)), "b")
	require.Empty(t, q.again(messages("a", "a", "b")), "marks count all the same")
	require.Equal(t, []string{"a"}, q.list())
}
