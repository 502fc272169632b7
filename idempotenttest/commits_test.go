package idempotenttest_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

type row struct {
	ID string `dynamodbav:"order_id"`
}

func commit(ctx context.Context, answer any) error {
	_, err := dynamo.Commit(ctx, answer, dynamo.Put("orders", row{ID: "o-1"}, dynamo.IfAbsent("order_id")))
	return err
}

// failing is a context whose commits end so.
func failing(t *testing.T, errs ...error) context.Context {
	t.Helper()
	return idempotenttest.Context(t, idempotenttest.Config{CommitErrors: errs})
}

func declined() error {
	return &dynamo.ConditionError{Refused: []dynamo.RefusedItem{{Table: "orders"}}}
}

func TestCommitsOfAContextAreToldAndWrittenNowhere(t *testing.T) {
	t.Parallel()
	ctx := idempotenttest.Context(t)
	require.Empty(t, idempotenttest.Commits(ctx))
	out, err := dynamo.Commit(context.WithValue(ctx, "any", 1), "answer", dynamo.Put("orders", row{"a"}), dynamo.Put("orders", row{"b"})) //nolint:staticcheck // any context made from it
	require.NoError(t, err)
	require.Equal(t, "answer", out)

	all := idempotenttest.Commits(ctx)
	require.Len(t, all, 1)
	assert.Equal(t, "answer", all[0].Answer)
	assert.Equal(t, 2, all[0].Writes.Len())
	assert.Empty(t, idempotenttest.Commits(idempotenttest.Context(t)), "another context")
}

func TestACommitWithoutItemsIsOne(t *testing.T) {
	t.Parallel()
	ctx := idempotenttest.Context(t)
	_, err := dynamo.Commit(ctx, "answer")
	require.NoError(t, err)
	require.Len(t, idempotenttest.Commits(ctx), 1)
}

func TestAContextCommitsOnce(t *testing.T) {
	t.Parallel()
	ctx := idempotenttest.Context(t)
	require.NoError(t, commit(ctx, "first"))
	err := commit(ctx, "second")
	require.ErrorIs(t, err, idempotent.ErrCommitRefused)
	require.ErrorContains(t, err, "committed its answer before")
	require.ErrorAs(t, err, new(*idempotent.Error))
	_, err = idempotent.Step(ctx, "late", func(context.Context) (int, error) { return 1, nil })
	require.ErrorIs(t, err, idempotent.ErrStepRefused)
	require.ErrorContains(t, err, "steps come before")
	require.Equal(t, "first", idempotenttest.Commits(ctx)[0].Answer)
}

func TestWhatADeliveryRefusesAContextRefuses(t *testing.T) {
	t.Parallel()
	ended := errors.New("ended")
	for name, tc := range map[string]struct {
		commit func(ctx context.Context) error
		want   string
	}{
		"inside of a step": {func(ctx context.Context) error {
			_, err := idempotent.Step(ctx, "step", func(ctx context.Context) (int, error) { return 1, commit(ctx, 1) })
			return err
		}, "inside of a step"},
		"no JSON form": {
			func(ctx context.Context) error { return commit(ctx, math.NaN()) },
			"its answer has no JSON form",
		},
		"ended": {func(ctx context.Context) error {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(ended)
			err := commit(ctx, 1)
			assert.ErrorIs(t, err, ended)
			return err
		}, "its context has ended"},
		"a wrong item": {func(ctx context.Context) error {
			_, err := dynamo.Commit(ctx, 1, dynamo.Put("orders", nil))
			return err
		}, "table"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := failing(t, nil, declined())
			err := tc.commit(ctx)
			require.ErrorIs(t, err, idempotent.ErrCommitRefused)
			require.ErrorContains(t, err, tc.want)
			require.Empty(t, idempotenttest.Commits(ctx))

			_, err = idempotent.Step(ctx, "other", func(context.Context) (int, error) { return 1, nil })
			require.NoError(t, err, "the claim stands")
			require.NoError(t, commit(ctx, 2), "and no error was taken")
		})
	}
}

func TestACommitOfAContextIsDeclinedOnDemand(t *testing.T) {
	t.Parallel()
	want := declined()
	ctx := failing(t, want, declined(), nil, declined())
	err := commit(ctx, 1)
	require.Same(t, want, err)
	require.Empty(t, idempotenttest.Commits(ctx))
	_, err = idempotent.Step(ctx, "another-way", func(context.Context) (int, error) { return 1, nil })
	require.NoError(t, err)

	_, condition := errors.AsType[*dynamo.ConditionError](commit(ctx, 2))
	require.True(t, condition)
	require.NoError(t, commit(ctx, 3))
	require.Equal(t, 3, idempotenttest.Commits(ctx)[0].Answer)
}

func TestAfterACommitThatFailedAContextCommitsNoMore(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for _, tc := range []struct{ given, want error }{
		{idempotent.ErrLeaseLost, idempotent.ErrLeaseLost},
		{idempotent.ErrCommitFailed, idempotent.ErrCommitFailed},
		{down, idempotent.ErrCommitFailed},
	} {
		ctx := failing(t, tc.given)
		err := commit(ctx, 1)
		require.ErrorIs(t, err, tc.want)
		require.ErrorIs(t, err, tc.given)
		require.ErrorIs(t, commit(ctx, 1), idempotent.ErrCommitRefused)
		_, err = idempotent.Step(ctx, "late", func(context.Context) (int, error) { return 1, nil })
		require.ErrorIs(t, err, idempotent.ErrStepRefused)
		require.Empty(t, idempotenttest.Commits(ctx))
	}
}

// TestACommitOfAContextWaitsForItsSteps, which begin no more while it waits, and go on if it waited
// without an answer.
func TestACommitOfAContextWaitsForItsSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := idempotenttest.Context(t)
		stepped := make(chan error, 1)
		go func() {
			_, err := idempotent.Step(ctx, "slow",
				func(context.Context) (int, error) { time.Sleep(time.Minute); return 1, nil })
			stepped <- err
		}()
		synctest.Wait()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		require.ErrorIs(t, commit(short, 1), idempotent.ErrCommitRefused)
		_, err := idempotent.Step(ctx, "beside", func(context.Context) (int, error) { return 1, nil })
		require.NoError(t, err)

		committed := make(chan error, 1)
		go func() { committed <- commit(ctx, 2) }()
		synctest.Wait()
		require.ErrorIs(t, commit(ctx, 3), idempotent.ErrCommitRefused, "another one is under way")
		_, err = idempotent.Step(ctx, "late", func(context.Context) (int, error) { return 1, nil })
		require.ErrorIs(t, err, idempotent.ErrStepRefused)
		require.Empty(t, idempotenttest.Commits(ctx))
		require.NoError(t, <-stepped)
		require.NoError(t, <-committed)
		require.Equal(t, 2, idempotenttest.Commits(ctx)[0].Answer)
	})
}

func TestCommitsOfAnotherContextAreAMistakeOfTheTest(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { idempotenttest.Commits(t.Context()) })
	require.Panics(t, func() { idempotenttest.Commits(idempotent.Unprotected(idempotenttest.Context(t))) })
}
