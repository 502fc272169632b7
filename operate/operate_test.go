package operate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func TestARecordOfUnknownOutcomeIsFoundShownAndSettled(t *testing.T) {
	t.Parallel()
	ctx, s, now := t.Context(), memory.New(), time.Now()
	key := "charge#1"
	_, claimed, err := s.Claim(ctx, store.Record{
		Key: key, Status: store.StatusUnknown, Owner: "a", Reason: store.ReasonResultLost, Expiry: now.Add(time.Hour),
		Attention: store.AttentionOf(key), AttentionAt: now.Add(-time.Minute), Derived: []string{"charge"},
	}, now)
	require.NoError(t, err)
	require.True(t, claimed)
	o := operate.New(s)

	var listed []string
	for l, err := range o.List(ctx, operate.Query{}) {
		require.NoError(t, err)
		listed = append(listed, l.Record.Key)
	}
	assert.Equal(t, []string{key}, listed)

	shown, err := o.Inspect(ctx, key)
	require.NoError(t, err)
	assert.Equal(t, operate.StateUnknown, shown.State)
	act := operate.Act{By: "dana", Why: "the provider has the charge"}
	entry, err := o.Settle(ctx, shown, operate.Executed([]byte(`{"id":"ch_1"}`)), act)
	require.NoError(t, err)
	assert.Equal(t, operate.StateCompleted, entry.After.State)

	_, err = o.Settle(ctx, shown, operate.NotExecuted(), act)
	require.ErrorIs(t, err, operate.ErrChanged)
}
