package rows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/rows"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// TestTableKeepsTheContractOfStores also where it commits, as DynamoDB does: with tokens and
// without.
func TestTableKeepsTheContractOfStores(t *testing.T) {
	counted := rows.Counted(func(s store.Store) *rows.Table { return s.(*rows.Table) })
	for name, remembers := range map[string]bool{"tokens": true, "no tokens": false} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, storetest.Features{Writes: counted}, func(testing.TB) store.Store {
				table := rows.New(nil)
				table.Remembers = remembers
				return table
			})
		})
	}
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

	sent := rows.Message{ID: "m", Owner: "A", Created: time.UnixMilli(1), Due: time.UnixMilli(1)}
	sends := rows.Writes{{Key: "m", Sends: true, Owner: "A", At: sent.Due}}
	table.Remembers = true
	for range 2 {
		require.NoError(t, table.Apply(t.Context(), sends, "token"))
		require.NoError(t, table.Apply(t.Context(), sends, "token"), "which it knows")
		table.Forget()
	}
	require.Equal(t, []rows.Message{sent, sent}, table.Images)
	require.Equal(t, sent, table.Messages["m"])
}

// TestBoxKeepsItsContract is about each sentence of [relay.Box], which the tests of package outbox
// see kept by DynamoDB.
func TestBoxKeepsItsContract(t *testing.T) {
	t.Parallel()
	due, later := time.UnixMilli(1), time.UnixMilli(2)
	fresh := rows.Message{ID: "m", Owner: "A", Created: due, Due: due}
	as := func(change func(m *rows.Message)) rows.Message {
		m := fresh
		change(&m)
		return m
	}
	givenUp := as(func(m *rows.Message) { m.GivenUp, m.Tries = true, 3 })
	done := as(func(m *rows.Message) { m.Due = time.Time{} })
	once := as(func(m *rows.Message) { m.Due, m.Tries = later, 1 })
	replaced := as(func(m *rows.Message) { m.Owner = "B" })
	for name, c := range map[string]struct {
		held, seen rows.Message
		op         rows.BoxOp
		becomes    rows.Message // zero is what it was: the write is refused
	}{
		"a mark":                          {fresh, fresh, rows.Done, done},
		"a mark of one that is given up":  {givenUp, fresh, rows.Done, done},
		"a mark of one that is done":      {held: done, seen: fresh, op: rows.Done},
		"a mark of another commit's":      {held: replaced, seen: fresh, op: rows.Done},
		"a count":                         {fresh, fresh, rows.Failed, once},
		"a count of one that was put off": {as(func(m *rows.Message) { m.Due = later }), fresh, rows.Failed, once},
		"a count of one that is done":     {held: done, seen: fresh, op: rows.Failed},
		"a count of another commit's":     {held: replaced, seen: fresh, op: rows.Failed},
		"a take":                          {fresh, fresh, rows.Take, once},
		"a take of one that was taken":    {held: once, seen: fresh, op: rows.Take},
		"a take of one that is given up":  {held: givenUp, seen: fresh, op: rows.Take},
		"a take of one that is done":      {held: done, seen: fresh, op: rows.Take},
		"a take of another commit's":      {held: replaced, seen: fresh, op: rows.Take},
		"one that was never tried, given up": {
			fresh, fresh, rows.GiveUp, as(func(m *rows.Message) { m.GivenUp, m.Tries = true, 1 }),
		},
		"one that was tried, given up": {
			once, once, rows.GiveUp, as(func(m *rows.Message) { m.Due, m.GivenUp, m.Tries = later, true, 1 }),
		},
		"one that was redriven since, given up": {held: fresh, seen: givenUp, op: rows.GiveUp},
		"one that is done, given up":            {held: done, seen: fresh, op: rows.GiveUp},
		"another commit's, given up":            {held: replaced, seen: fresh, op: rows.GiveUp},
	} {
		table := rows.New(nil)
		table.Messages["m"] = c.held
		want, wrote := c.becomes, c.becomes.ID != ""
		if !wrote {
			want = c.held
		}
		got := table.Answer(rows.BoxCall{Op: c.op, Entry: c.seen, At: later})
		require.Equal(t, wrote, got.Done, name)
		require.Equal(t, want, table.Messages["m"], name)
		if wrote {
			require.Equal(t, []rows.Message{want}, table.Images, name)
			require.Equal(t, want.Tries, got.Tries, name)
		}
		read := table.Answer(rows.BoxCall{Op: rows.Read, Entry: fresh})
		require.Equal(t, rows.Pending(want), read.Done, name)
		listed := table.Answer(rows.BoxCall{Op: rows.List}).Page
		require.Equal(t, rows.Pending(want) && !want.GivenUp, len(listed) == 1, name)
	}
	table := rows.New(nil)
	table.Redrive(givenUp, later)
	require.Equal(t, as(func(m *rows.Message) { m.Due = later }), table.Messages["m"])
}
