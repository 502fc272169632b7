package dynamo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

func TestACommitOutsideOfADelivery(t *testing.T) {
	t.Parallel()
	out, err := dynamo.Commit(t.Context(), "out", dynamo.Put("orders", order{ID: "o-1"}))
	require.Empty(t, out)
	require.ErrorIs(t, err, idempotent.ErrCommitRefused)
	require.NotErrorIs(t, err, store.ErrNoCommit)
	require.ErrorAs(t, err, new(*idempotent.Error))
	require.EqualError(t, err,
		"idempotent: the commit was not begun: its context belongs to no delivery: pass on the one that the handler "+
			"was given")
}
