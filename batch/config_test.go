package batch_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
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
		batch.SQS[string](nil, batch.Config[events.SQSMessage]{
			Concurrency: -1, Reserve: -time.Second, Unordered: true,
			Observers: []func(context.Context, report.Batch){nil},
		}, batch.Config[events.SQSMessage]{})
	}))
	require.Equal(t, []string{"batch.Kinesis: Visibility: a stream has no visibility timeouts"}, problemsOf(t, func() {
		batch.Kinesis(newEffects().reading(), batch.Config[events.KinesisEventRecord]{Visibility: visible})
	}))
	require.Equal(t, []string{"batch.DynamoDB: Visibility: a stream has no visibility timeouts"}, problemsOf(t, func() {
		batch.DynamoDB(newEffects().changing(), batch.Config[events.DynamoDBEventRecord]{Visibility: visible})
	}))
}

func TestAReportListsAHundredProblems(t *testing.T) {
	t.Parallel()
	e := newEffects()
	bodies := make([]string, 150)
	for i := range bodies {
		bodies[i] = string(rune('A' + i))
		e.fail(errDown, bodies[i])
	}
	var first, second report.Batch
	ship := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Observers: into(&first, &second)})
	require.Len(t, received(t, ship, messages(bodies...)), 150)
	require.Equal(t, 150, first.Failed)
	require.Len(t, first.Problems, 100)
	require.Equal(t, "id-A", first.Problems[0].ID)
	require.Equal(t, first, second)
}

func TestABatchNeedsNoKeyOption(t *testing.T) {
	t.Parallel()
	e := newEffects()
	for name, describe := range map[string]func() (idempotent.Description, error){
		"a message": func() (idempotent.Description, error) {
			return e.shipping().Describe(t.Context(), messages("a").Records[0])
		},
		"a record": func() (idempotent.Description, error) {
			return e.reading().Describe(t.Context(), onShard(1, "a").Records[0])
		},
		"a change": func() (idempotent.Description, error) {
			return e.changing().Describe(t.Context(), changes(1, "a").Records[0])
		},
	} {
		d, err := describe()
		require.NoError(t, err, name)
		require.True(t, d.Protected, name)
	}
}
