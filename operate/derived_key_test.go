package operate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// TestARecordTellsTheDerivedKeyOfAName also of one for which no execution has asked.
func TestARecordTellsTheDerivedKeyOfAName(t *testing.T) {
	t.Parallel()
	records, keys := memory.New(), map[string]string{}
	h := idempotent.Wrap(func(ctx context.Context, _ string) (string, error) {
		x, _ := idempotent.FromContext(ctx)
		keys["asked"], keys["not asked"] = idempotent.DerivedKey(ctx, "asked"), x.DerivedKey("not asked")
		return "", idempotent.Uncertain(errors.New("no answer"))
	}, records, idempotent.WithOperation("charge"),
		idempotent.WithKey(func(s string) (string, error) { return s, nil }))
	_, err := h.Handle(t.Context(), "order")
	require.Error(t, err)
	d, err := h.Describe(t.Context(), "order")
	require.NoError(t, err)
	shown, err := operate.New(records).Inspect(t.Context(), d.RecordKey)
	require.NoError(t, err)
	for name, key := range keys {
		require.Equal(t, key, shown.DerivedKey(name), name)
	}
}

// TestADeadProcessHasLeftItsDerivedKey: a process that is killed in its first execution tells
// nothing. The names that executions before it have handed out are in its claim, so the key that
// the provider has seen leads to the record.
func TestADeadProcessHasLeftItsDerivedKey(t *testing.T) {
	t.Parallel()
	s, left := memory.New(), memory.New()
	var sent, recordKey string
	charge := func(ctx context.Context, id string) (string, error) {
		sent = idempotent.DerivedKey(ctx, "charge")
		x, _ := idempotent.FromContext(ctx)
		if recordKey = x.RecordKey; id == "dies" { // what the store has now is all that there is if it is killed here
			held, found, err := s.Get(ctx, recordKey)
			require.NoError(t, err)
			require.True(t, found)
			_, claimed, err := left.Claim(ctx, held, held.CreatedAt)
			require.NoError(t, err)
			require.True(t, claimed)
		}
		return "ch_1", nil
	}
	h := idempotent.Wrap(charge, s, idempotent.WithOperation("charge"), idempotent.WithEffects(idempotent.Unrepeatable),
		idempotent.WithKey(func(id string) (string, error) { return id, nil }))
	for _, id := range []string{"lives", "dies"} {
		_, err := h.Handle(t.Context(), id)
		require.NoError(t, err)
	}
	o := operate.New(left, operate.Config{Clock: func() time.Time { return time.Now().Add(time.Hour) }})
	shown, name, err := o.FindDerived(t.Context(), "", sent)
	require.NoError(t, err)
	require.Equal(t, "charge", name)
	require.Equal(t, recordKey, shown.Record.Key)
	require.Equal(t, operate.StateCrashed, shown.State)

	done, _, err := s.Get(t.Context(), recordKey)
	require.NoError(t, err)
	require.Empty(t, done.Derived, "who completes has nothing to tell")
}

// A process that died before it had learned anything has left no name: those of another record of
// the operation lead to it.
func TestTheNamesOfOthersLeadToARecord(t *testing.T) {
	t.Parallel()
	s := memory.New()
	cold, warm := crashed(), unknown()
	cold.Key, cold.Attention, cold.AttentionAt = cold.Operation()+"#cold", store.AttentionOf(cold.Key), cold.Lease
	for _, r := range []store.Record{cold, warm} {
		_, claimed, err := s.Claim(t.Context(), r, r.CreatedAt)
		require.NoError(t, err)
		require.True(t, claimed)
	}
	sent := idempotent.Description{
		Protected: true, RecordKey: cold.Key,
		Fingerprint: cold.Fingerprint,
	}.DerivedKey(warm.Derived[0])
	shown, name, err := operate.New(s,
		operate.Config{Clock: func() time.Time { return now }}).FindDerived(t.Context(), "", sent)
	require.NoError(t, err)
	require.Equal(t, warm.Derived[0], name)
	require.Equal(t, cold.Key, shown.Record.Key)

	sent = idempotent.Description{
		Protected: true, RecordKey: cold.Key,
		Fingerprint: cold.Fingerprint,
	}.DerivedKey("known to me")
	o := operate.New(s, operate.Config{Clock: func() time.Time { return now }})
	_, _, err = o.FindDerived(t.Context(), "", sent)
	require.ErrorIs(t, err, operate.ErrNotFound)
	shown, _, err = o.FindDerived(t.Context(), "", sent, "known to me")
	require.NoError(t, err)
	require.Equal(t, cold.Key, shown.Record.Key)
}
