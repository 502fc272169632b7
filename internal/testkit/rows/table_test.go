package rows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// TestTableWithoutTokensKeepsTheContractOfStores: package storetest tests its suite on one that has
// all that a store can have.
func TestTableWithoutTokensKeepsTheContractOfStores(t *testing.T) {
	f := rows.Features(func(s store.Store) *rows.Table { return s.(*rows.Table) })
	storetest.Run(t, f, func(testing.TB) store.Store { return rows.New(nil) })
}

func TestRowsAreWhatWasWritten(t *testing.T) {
	t.Parallel()
	table := rows.New(map[string]rows.Row{"gate": {"open": 1}})
	shuts := rows.Write{Key: "gate", Set: rows.Row{"open": 0}, If: rows.Row{"open": 1}}
	counts := rows.Write{Key: "made", Add: rows.Row{"n": 2}}
	require.NoError(t, table.Apply(t.Context(), rows.Writes{counts, shuts}, ""))
	require.ErrorIs(t, table.Apply(t.Context(), rows.Writes{counts, shuts}, ""), store.ErrWritesRefused)
	require.NoError(t, table.Apply(t.Context(), rows.Writes{counts, {Key: "gate", If: rows.Row{"open": 0}}}, ""))
	require.Equal(t, map[string]rows.Row{"gate": {"open": 0}, "made": {"n": 4}}, table.Rows)
	require.Equal(t, 2, table.Applied)

	var sent []any
	table.Remembers, table.Sent = true, func(m any) { sent = append(sent, m) }
	sends := rows.Writes{{Sends: "m"}}
	for range 2 {
		require.NoError(t, table.Apply(t.Context(), sends, "token"))
		require.NoError(t, table.Apply(t.Context(), sends, "token"), "which it knows")
		table.Forget()
	}
	require.Equal(t, []any{"m", "m"}, sent)
}
