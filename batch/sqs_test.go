package batch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/report"
)

func TestOnlyWhatFailedComesAgainAndEachEffectHappensOnce(t *testing.T) {
	t.Parallel()
	e := newEffects()
	ship := batch.SQS(e.shipping())
	e.fail(errDown, "b", "d")
	require.Equal(t, []string{"b", "d"}, received(t, ship, messages("a", "b", "c", "d", "e")))
	require.Equal(t, []string{"a", "c", "e"}, e.sorted())
	e.recover("b")
	require.Equal(t, []string{"d"}, received(t, ship, messages("b", "d", "a")), "a is replayed")
	e.recover("d")
	require.Empty(t, received(t, ship, messages("d", "b")))
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, e.sorted())
}

func TestAnEmptyEventHasAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	e := newEffects()
	require.Empty(t, received(t, batch.SQS(e.shipping()), events.SQSEvent{}))
	ofStream, err := batch.Kinesis(e.reading())(t.Context(), events.KinesisEvent{})
	require.NoError(t, err)
	require.Empty(t, again(t, ofStream))
	ofTable, err := batch.DynamoDB(e.changing())(t.Context(), events.DynamoDBEvent{})
	require.NoError(t, err)
	require.Empty(t, again(t, ofTable))
}

// Nothing could name such a record, and Lambda takes an empty identifier for the failure of
// everything.
func TestARecordWithoutAnIDIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	ofQueue := messages("a", "b")
	ofQueue.Records[1].MessageId, ofQueue.Records[1].EventSource = "", "aws:kinesis"
	_, err := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Observers: into(&r)})(t.Context(), ofQueue)
	require.EqualError(t, err,
		`batch.SQS: record 1 of the event has no id by which an answer could name it; it says that it comes from "aws:kinesis": `+
			"look at the event source of the function")
	require.Equal(t, report.Batch{Operation: "ship", Source: "sqs", Records: 2, Took: r.Took, Err: err}, r)
	ofStream := onShard(1, "a", "b")
	ofStream.Records[0].Kinesis.SequenceNumber = ""
	_, err = batch.Kinesis(e.reading())(t.Context(), ofStream)
	require.ErrorContains(t, err, "batch.Kinesis: record 0 ")
	ofTable := changes(1, "a", "b")
	ofTable.Records[0].Change.SequenceNumber = ""
	_, err = batch.DynamoDB(e.changing())(t.Context(), ofTable)
	require.ErrorContains(t, err, "batch.DynamoDB: record 0 ")
	require.Empty(t, e.list())
}

func TestTheHandlersContextKnowsItsDelivery(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var key string
	e.on("a", func(ctx context.Context) error { key = idempotent.DerivedKey(ctx, "ship"); return nil })
	h := e.shipping()
	require.Empty(t, received(t, batch.SQS(h), messages("a")))
	d, err := h.Describe(t.Context(), messages("a").Records[0])
	require.NoError(t, err)
	require.Equal(t, d.DerivedKey("ship"), key)
}

func TestProtectionThatIsTurnedOffRunsEachRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	ship := batch.SQS(e.shipping(idempotent.WithDisabled(true)))
	e.fail(errors.Join(errDown, idempotent.Terminal(errDeclined)), "b")
	require.Empty(t, received(t, ship, messages("a", "a", "b")), "marks count all the same")
	require.Equal(t, []string{"a"}, e.list())
}
