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
	ofStream := func(context.Context, events.KinesisEventRecord, error) error { return nil }
	require.Equal(t, []string{
		"batch.SQS: the handler is nil",
		"batch.SQS: WithConcurrency: 0 is less than 1",
		"batch.SQS: WithReserve: 0s is not positive",
		"batch.SQS: WithVisibility: the function is nil",
		"batch.SQS: WithObserver: the function is nil",
		"batch.SQS: option 5 is nil",
		"batch.SQS: WithTerminal: the function is a func(context.Context, events.KinesisEventRecord, error) error, and the records are of type events.SQSMessage",
		"batch.SQS: WithPoison: the function is a func(context.Context, events.KinesisEventRecord, error) error, and the records are of type events.SQSMessage",
	}, problemsOf(t, func() {
		batch.SQS[string](nil, batch.WithConcurrency(0), batch.WithReserve(0), batch.WithVisibility(nil), batch.WithObserver(nil), nil,
			batch.WithTerminal(ofStream), batch.WithPoison(ofStream))
	}))
	require.Equal(t, []string{"batch.SQS: WithTerminal: the function is nil", "batch.SQS: WithPoison: the function is nil"}, problemsOf(t, func() {
		batch.SQS(newEffects().shipping(), batch.WithTerminal[events.SQSMessage](nil), batch.WithPoison[events.SQSMessage](nil))
	}))
	take := func(context.Context, events.SQSMessage, error) error { return nil }
	require.Equal(t, []string{
		"batch.SQS: WithTerminal: it is there twice", "batch.SQS: WithPoison: it is there twice", "batch.SQS: WithVisibility: it is there twice",
	}, problemsOf(t, func() {
		batch.SQS(newEffects().shipping(), batch.WithTerminal(take), batch.WithTerminal(take), batch.WithPoison(take), batch.WithPoison(take),
			batch.WithVisibility(visible), batch.WithVisibility(visible))
	}))
	require.Equal(t, []string{"batch.Kinesis: WithVisibility: a stream has no visibility timeouts"}, problemsOf(t, func() {
		batch.Kinesis(newEffects().reading(), batch.WithVisibility(visible))
	}))
	require.Equal(t, []string{"batch.DynamoDB: WithVisibility: a stream has no visibility timeouts"}, problemsOf(t, func() {
		batch.DynamoDB(newEffects().changing(), batch.WithVisibility(visible))
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
	ship := batch.SQS(e.shipping(), observed(&first), observed(&second))
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
