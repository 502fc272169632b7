package operate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
)

// TestARecordTellsTheDerivedKeyOfAName also of one for which no execution has asked.
func TestARecordTellsTheDerivedKeyOfAName(t *testing.T) {
	t.Parallel()
	records, keys := memory.New(), map[string]string{}
	h := idempotent.Wrap(func(ctx context.Context, _ string) (string, error) {
		x, _ := idempotent.FromContext(ctx)
		keys["asked"], keys["not asked"] = idempotent.DerivedKey(ctx, "asked"), x.DerivedKey("not asked")
		return "", idempotent.Uncertain(errors.New("no answer"))
	}, records, idempotent.WithOperation("charge"), idempotent.WithKey(func(s string) (string, error) { return s, nil }))
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
