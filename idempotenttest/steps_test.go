package idempotenttest_test

import (
	"context"
	"errors"
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

func TestTheNameOfAStepCanBeUsedOnce(t *testing.T) {
	t.Parallel()
	errDown := errors.New("down")
	ctx := idempotenttest.Context(t)
	for _, want := range []error{errDown, idempotent.ErrStepRefused} {
		_, err := idempotent.Step(ctx, "fails", func(context.Context) (int, error) { return 0, errDown })
		require.ErrorIs(t, err, want)
	}
}
