package batch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

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

	_, err = topic(t, topicConfig{}).function(t.Context(),
		events.KafkaEvent{Records: map[string][]events.KafkaRecord{"": {{Topic: "mytopic"}}}})
	require.ErrorContains(t, err, "batch.Kafka: record 0 ")
}

func TestProtectionThatIsTurnedOffRunsEachRecord(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{}, idempotent.WithDisabled(true))
	q.fail(errors.Join(errDown, idempotent.Terminal(errDeclined)), "b")
	require.Empty(t, q.again(messages("a", "a", "b")), "marks count all the same")
	require.Equal(t, []string{"a"}, q.list())
}

func TestNothingIsBegunNearTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}
		q := queue(t, queueConfig{Concurrency: 1})
		q.takes(2*time.Second, nil, names...)
		q.takes(time.Second, nil, "3")
		// 2 s, 4 s, 6 s and 7 s have gone; then 1.5 s are left, less than the slowest one took.
		require.Equal(t, names[4:], q.within(8500*time.Millisecond, messages(names...)))
		require.Equal(t, 5, q.report.NotBegun)
		require.Equal(t, names[:4], q.list())
		require.Empty(t, q.report.Problems)

		q = queue(t, queueConfig{Concurrency: 1, Reserve: 5 * time.Second})
		q.takes(2*time.Second, nil, names...)
		require.Len(t, q.within(10*time.Second, messages(names...)), 6, "with the reserve, of 10 s only 6 s are used")
	})
}

func TestNothingIsBegunAfterTheInvocationHasEnded(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{Concurrency: 1})
	ctx, cancel := context.WithCancel(t.Context())
	q.on("a", func(context.Context) error { cancel(); return nil })
	require.Equal(t, []string{"b", "c"}, q.in(ctx, messages("a", "b", "c")))
	require.Equal(t, 2, q.report.NotBegun)
}

// A function whose timeout is too short would never begin anything, and nobody would notice.
func TestAnInvocationWithoutTimeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const left = 900 * time.Millisecond
		q := queue(t, queueConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), left)
		defer cancel()
		_, err := q.function(ctx, messages("a"))
		require.EqualError(t, err,
			"batch.SQS: less than 1s are left of the invocation, in which no record is begun: raise the timeout of the "+
				"function, or see Config.Reserve")
		require.Equal(t, err, q.report.Err)
		require.Empty(t, q.list())
		require.Empty(t, queue(t, queueConfig{Reserve: 100 * time.Millisecond}).within(left, messages("a")))
		require.Empty(t, q.within(left, events.SQSEvent{}), "there is nothing to begin")
	})
}

// The time that passed in waiting for another execution says nothing about the records behind.
func TestOnlyHandlersThatRanTellHowSlowARecordIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(t, queueConfig{Concurrency: 1}, idempotent.WithWait(20*time.Second))
		q.takes(40*time.Second, nil, "a")
		ended := q.elsewhere(messages("a").Records[0])
		require.Equal(t, []string{"a"}, q.within(30*time.Second, messages("a", "b", "c")))
		require.NoError(t, <-ended)
	})
}

func TestEveryMistakeOfAConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	visible := func(context.Context, []events.SQSMessage, time.Duration) error { return nil }
	require.Equal(t, []string{
		"batch.SQS: there are 2 values of Config, and one counts",
		"batch.SQS: Concurrency: -1 is negative",
		"batch.SQS: Reserve: -1s is negative",
		"batch.SQS: Unordered: it is for Kafka",
		"batch.SQS: Observers: function 1 is nil",
		"batch.SQS: the handler is nil",
	}, configtest.ProblemsOf(t, func() {
		batch.SQS[string](nil, queueConfig{
			Concurrency: -1, Reserve: -time.Second, Unordered: true,
			Observers: []func(context.Context, report.Batch){nil},
		}, queueConfig{})
	}))
	require.Equal(t, []string{"batch.Kinesis: Visibility: a stream has no visibility timeouts"},
		configtest.ProblemsOf(t, func() { shard(t, streamConfig{Visibility: visible}) }))
	require.Equal(t, []string{"batch.DynamoDB: Visibility: a stream has no visibility timeouts"}, configtest.ProblemsOf(t, func() {
		batch.DynamoDB(table(t).handler, batch.Config[events.DynamoDBEventRecord]{Visibility: visible})
	}))
}

func TestAReportListsAHundredProblems(t *testing.T) {
	t.Parallel()
	var first report.Batch
	q := queue(t, queueConfig{Observers: []func(context.Context, report.Batch){
		func(_ context.Context, r report.Batch) { first = r },
	}})
	bodies := make([]string, 150)
	for i := range bodies {
		bodies[i] = string(rune('A' + i))
	}
	q.fail(errDown, bodies...)
	require.Len(t, q.again(messages(bodies...)), 150)
	require.Equal(t, 150, q.report.Failed)
	require.Len(t, q.report.Problems, 100)
	require.Equal(t, "id-A", q.report.Problems[0].ID)
	require.Equal(t, q.report, first)
}

// A message that was handled is acknowledged, also by a version whose handler returns something
// else: nobody looks at its result.
func TestABatchNeedsNoResultOfWhatWasHandled(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	require.Empty(t, q.again(messages("a")))

	type parcel struct{ ID int }
	next := batch.SQS(idempotent.Wrap(func(context.Context, events.SQSMessage) (parcel, error) {
		t.Error("it was handled")
		return parcel{}, nil
	}, unregistered{q.records}, operation()))
	answer, err := next(t.Context(), messages("a"))
	require.NoError(t, err)
	require.Empty(t, identifiers(t, answer))
}

// unregistered is the store of another process.
type unregistered struct{ store.Store }

// visibility is a fake of what sets the visibility of messages.
type visibility struct {
	set map[string]time.Duration
	err error
}

func newVisibility() *visibility { return &visibility{set: map[string]time.Duration{}} }

func (v *visibility) change(_ context.Context, all []events.SQSMessage, after time.Duration) error {
	for _, m := range all {
		v.set[m.Body] = after
	}
	return v.err
}

func TestAMessageInProgressComesAgainWhenItsLeaseHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVisibility()
		change := v.change
		q := queue(t, queueConfig{
			Visibility: func(ctx context.Context, all []events.SQSMessage, after time.Duration) error {
				return change(ctx, all, after)
			},
		}, idempotent.WithTiming(idempotent.Timing{Lease: 40 * time.Second}))
		q.takes(5*time.Second, nil, "a")
		ended := q.elsewhere(messages("a").Records[0])
		time.Sleep(time.Second)
		require.Equal(t, []string{"a"}, q.again(messages("a", "b")))
		require.Equal(t, map[string]time.Duration{"a": 39 * time.Second}, v.set)
		require.Equal(t, 1, q.report.InProgress)
		require.Equal(t, []report.BatchProblem{{
			ID: "id-a", Outcome: report.RecordInProgress, Receives: 3, Again: true, Err: q.report.Problems[0].Err,
		}}, q.report.Problems)
		require.ErrorIs(t, q.report.Problems[0].Err, idempotent.ErrInProgress)

		v.err = errDown
		require.Equal(t, []string{"a"}, q.again(messages("a")))
		require.Equal(t, errDown, q.report.Problems[0].FunctionErr)
		change = func(context.Context, []events.SQSMessage, time.Duration) error { panic("x") }
		require.Equal(t, []string{"a"}, q.again(messages("a")))
		require.EqualError(t, q.report.Problems[0].FunctionErr, "it panicked with a value of type string")
		answer, err := batch.SQS(q.handler)(t.Context(), messages("a"))
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, identifiers(t, answer),
			"without the function it comes again when the queue says so")
		require.NoError(t, <-ended)
		require.Empty(t, q.again(messages("a")))
	})
}

// SQS hands over no message of a group while an earlier one is invisible, so those behind it come
// with it. Those of other groups keep their visibility, also if all are in one row.
func TestTheMessagesBehindOneInProgressComeAgainWithIt(t *testing.T) {
	t.Parallel()
	const rest = 30 * time.Second
	for name, c := range map[string]struct {
		event       events.SQSEvent
		concurrency int
		again       []string
		set         map[string]time.Duration
	}{
		"a FIFO queue": {
			inGroups("b1", "a1", "a2", "b2", "a3"), 0,
			[]string{"a2", "a3"},
			map[string]time.Duration{"a2": rest, "a3": rest},
		},
		"one at a time": {
			inGroups("b1", "a1", "a2", "b2", "a3"), 1,
			[]string{"a2", "a3"},
			map[string]time.Duration{"a2": rest, "a3": rest},
		},
		"a standard queue": {
			messages("b1", "a1", "a2", "b2", "a3"), 1,
			[]string{"a2"},
			map[string]time.Duration{"a2": rest},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVisibility()
				q := queue(t, queueConfig{Concurrency: c.concurrency, Visibility: v.change})
				q.takes(5*time.Second, nil, "a2")
				ended := q.elsewhere(c.event.Records[2])
				require.Equal(t, c.again, q.again(c.event))
				require.Equal(t, c.set, v.set)
				require.NoError(t, <-ended)
			})
		})
	}
}
