package idempotenttest_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

func TestStepsOfAContextRunAndReturnWhatARecordWouldKeep(t *testing.T) {
	t.Parallel()
	type charge struct {
		ID     string
		hidden string
	}
	ctx := idempotenttest.Context(t)
	var key string
	got, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (charge, error) {
		key = idempotent.DerivedKey(ctx, "")
		return charge{ID: "ch-1", hidden: "no JSON"}, nil
	})
	require.NoError(t, err)
	assert.Equal(t, charge{ID: "ch-1"}, got)
	assert.Equal(t, idempotent.DerivedKey(ctx, "charge"), key)
}

func TestStepsOfAContextFailAsThoseOfADelivery(t *testing.T) {
	t.Parallel()
	errDown := errors.New("down")
	ctx := idempotenttest.Context(t)
	_, err := idempotent.Step(ctx, "fails", func(context.Context) (int, error) { return 0, errDown })
	require.ErrorIs(t, err, errDown)
	_, err = idempotent.Step(ctx, "final",
		func(context.Context) (int, error) { return 0, idempotent.Terminal(errDown) })
	_, replayed := errors.AsType[*idempotent.ReplayedError](err)
	require.True(t, replayed, "%v", err)
	_, err = idempotent.Step(ctx, "lost", func(context.Context) (float64, error) { return math.NaN(), nil })
	require.ErrorIs(t, err, idempotent.ErrStepLost)

	ran := false
	runs := func(context.Context) (int, error) { ran = true; return 1, nil }
	_, err = idempotent.Step(ctx, "fails", runs)
	require.ErrorIs(t, err, idempotent.ErrStepRefused, "its name was used")
	_, err = idempotent.Step(ctx, "a name", runs)
	require.ErrorIs(t, err, idempotent.ErrStepRefused)
	_, err = idempotent.Step(ctx, "channel", func(context.Context) (chan int, error) { ran = true; return nil, nil })
	require.ErrorIs(t, err, idempotent.ErrStepRefused)
	_, err = idempotent.Step(ctx, "outer",
		func(ctx context.Context) (int, error) { return idempotent.Step(ctx, "inner", runs) })
	require.ErrorIs(t, err, idempotent.ErrStepRefused, "it is inside of another")
	assert.False(t, ran)
}
