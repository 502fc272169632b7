package idempotenttest_test

import (
	"context"
	"errors"
	"math"
	"testing"

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

func TestAContextCommitsOnce(t *testing.T) {
	t.Parallel()
	ctx := idempotenttest.Context(t)
	require.NoError(t, commit(ctx, "first"))
	require.ErrorIs(t, commit(ctx, "second"), idempotent.ErrCommitRefused)
	_, err := idempotent.Step(ctx, "late", func(context.Context) (int, error) { return 1, nil })
	require.ErrorIs(t, err, idempotent.ErrStepRefused)
	require.Equal(t, "first", idempotenttest.Commits(ctx)[0].Answer)
}

// TestACommitThatIsRefusedTakesNoneOfTheErrors, and leaves the claim.
func TestACommitThatIsRefusedTakesNoneOfTheErrors(t *testing.T) {
	t.Parallel()
	ctx := failing(t, nil, declined())
	_, err := idempotent.Step(ctx, "step", func(ctx context.Context) (int, error) { return 1, commit(ctx, 1) })
	require.ErrorIs(t, err, idempotent.ErrCommitRefused, "inside of a step")
	err = commit(ctx, math.NaN())
	require.ErrorIs(t, err, idempotent.ErrCommitRefused)
	require.ErrorContains(t, err, "its answer has no JSON form")
	require.Empty(t, idempotenttest.Commits(ctx))
	_, err = idempotent.Step(ctx, "other", func(context.Context) (int, error) { return 1, nil })
	require.NoError(t, err)
	require.NoError(t, commit(ctx, 2))
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

func TestCommitsOfAnotherContextAreAMistakeOfTheTest(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { idempotenttest.Commits(t.Context()) })
	require.Panics(t, func() { idempotenttest.Commits(idempotent.Unprotected(idempotenttest.Context(t))) })
}
