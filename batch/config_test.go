package batch_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func problemsOf(t *testing.T, configure func()) (problems []string) {
	t.Helper()
	defer func() {
		wrong, is := recover().(*store.ConfigError)
		require.True(t, is, "a panic with a *store.ConfigError")
		problems = wrong.Problems
	}()
	configure()
	return nil
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
	}, problemsOf(t, func() {
		batch.SQS[string](nil, queueConfig{
			Concurrency: -1, Reserve: -time.Second, Unordered: true,
			Observers: []func(context.Context, report.Batch){nil},
		}, queueConfig{})
	}))
	require.Equal(t, []string{"batch.Kinesis: Visibility: a stream has no visibility timeouts"},
		problemsOf(t, func() { shard(t, streamConfig{Visibility: visible}) }))
	require.Equal(t, []string{"batch.DynamoDB: Visibility: a stream has no visibility timeouts"}, problemsOf(t, func() {
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

func TestABatchNeedsNoKeyOption(t *testing.T) {
	t.Parallel()
	message, err := queue(t, queueConfig{}).handler.Describe(t.Context(), messages("a").Records[0])
	require.NoError(t, err)
	require.True(t, message.Protected)
	record, err := shard(t, streamConfig{}).handler.Describe(t.Context(), onShard(1, "a").Records[0])
	require.NoError(t, err)
	require.True(t, record.Protected)
	change, err := table(t).handler.Describe(t.Context(), changes(1, "a").Records[0])
	require.NoError(t, err)
	require.True(t, change.Protected)
}
