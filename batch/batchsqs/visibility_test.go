package batchsqs_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/batch/batchsqs"
)

const queueURL = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders"

var _ = batch.Config[events.SQSMessage]{Visibility: batchsqs.Visibility(&sqs.Client{}, queueURL)}

// queue is a client that keeps what it is asked for.
type queue struct {
	calls  []*sqs.ChangeMessageVisibilityBatchInput
	failed []types.BatchResultErrorEntry
	err    error
}

func (q *queue) ChangeMessageVisibilityBatch(_ context.Context, in *sqs.ChangeMessageVisibilityBatchInput,
	_ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	q.calls = append(q.calls, in)
	if q.err != nil {
		return nil, q.err
	}
	return &sqs.ChangeMessageVisibilityBatchOutput{Failed: q.failed}, nil
}

func messages(n int) (all []events.SQSMessage) {
	for i := range n {
		all = append(all, events.SQSMessage{
			ReceiptHandle:  "handle-" + strconv.Itoa(i),
			EventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:orders",
		})
	}
	return all
}

func TestTheVisibilityOfAllMessagesIsSetTenAtATime(t *testing.T) {
	t.Parallel()
	q := &queue{}
	require.NoError(t, batchsqs.Visibility(q, queueURL)(t.Context(), messages(23), 4200*time.Millisecond))
	var handles []string
	for _, in := range q.calls {
		require.Equal(t, queueURL, *in.QueueUrl)
		ids := map[string]bool{}
		for _, entry := range in.Entries {
			ids[*entry.Id] = true
			handles = append(handles, *entry.ReceiptHandle)
			require.EqualValues(t, 5, entry.VisibilityTimeout, "rounded up")
		}
		require.Len(t, ids, len(in.Entries), "each has an id of its own")
		require.LessOrEqual(t, len(in.Entries), 10)
	}
	require.Len(t, q.calls, 3)
	require.Len(t, handles, 23)
	require.Equal(t, "handle-22", handles[22])
}

func TestATimeIsInWholeSecondsAndAtMostHalfADay(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]int32{
		time.Second: 1, 1001 * time.Millisecond: 2,
		24 * time.Hour: 12 * 60 * 60,
	} {
		q := &queue{}
		require.NoError(t, batchsqs.Visibility(q, queueURL)(t.Context(), messages(1), after))
		require.Equal(t, want, q.calls[0].Entries[0].VisibilityTimeout)
	}
}

func TestWhatSQSDoesNotTakeIsAnError(t *testing.T) {
	t.Parallel()
	down := errors.New("SQS is down")
	q := &queue{err: down}
	require.ErrorIs(t, batchsqs.Visibility(q, queueURL)(t.Context(), messages(11), time.Second), down)
	require.Len(t, q.calls, 2, "the others are set all the same")
	q = &queue{failed: []types.BatchResultErrorEntry{{Id: aws.String("0"), Code: aws.String("ReceiptHandleIsInvalid")}}}
	require.EqualError(t, batchsqs.Visibility(q, queueURL)(t.Context(), messages(3), time.Second),
		"batchsqs: SQS did not change the visibility of 1 of 3 messages: ReceiptHandleIsInvalid")
}

func TestMessagesOfAnotherQueueAreLeftAlone(t *testing.T) {
	t.Parallel()
	q := &queue{}
	all := messages(2)
	all[1].EventSourceARN += ".fifo"
	require.EqualError(t, batchsqs.Visibility(q, queueURL)(t.Context(), all, time.Second),
		`batchsqs: a message is of the queue "orders.fifo", and the URL is that of "orders"`)
	require.Empty(t, q.calls)
	all[1].EventSourceARN = "" // a test that does not say
	require.NoError(t, batchsqs.Visibility(q, queueURL)(t.Context(), all, time.Second))
}

func TestAQueueIsNeeded(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, `batchsqs.Visibility: the client (<nil>) or the URL of the queue ("orders") is missing`,
		func() { batchsqs.Visibility(nil, "orders") })
	require.Panics(t, func() { batchsqs.Visibility(&queue{}, "") })
}
