package rows_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

var (
	now = time.Unix(1_800_000_000, 0)
	one = rows.Writes{{Op: rows.Update, Key: "made", Add: map[string]int64{"n": 1}}}
)

// claimed returns a table with a record that is claimed, and the record as a commit completes it.
func claimed(t *testing.T, remembers bool) (table *rows.Table, seen, next store.Record) {
	t.Helper()
	table = rows.New(map[string]rows.Row{"made": {"n": 10}})
	table.Remembers = remembers
	seen = store.Record{
		Key: "order#1", Status: store.StatusInProgress, Owner: "OWNER", Lease: now.Add(time.Minute), Expiry: now.Add(time.Hour),
	}
	_, is, err := table.Claim(t.Context(), seen, now)
	require.NoError(t, err)
	require.True(t, is)
	next = seen
	next.Status, next.Result, next.Lease = store.StatusCompleted, []byte("1"), time.Time{}
	next.Seal = store.CommitSeal(next.Owner, next.Result, next.Key, one)
	return table, seen, next
}

func TestTableKeepsTheContractOfStores(t *testing.T) {
	storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return rows.New(nil) })
}

func TestRecordAndRowsComeTogetherAndOnce(t *testing.T) {
	t.Parallel()
	for name, remembers := range map[string]bool{"tokens are remembered": true, "tokens are not remembered": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, seen, next := claimed(t, remembers)
			_, committed, err := table.Commit(t.Context(), seen, next, one, "token")
			require.NoError(t, err)
			require.True(t, committed)

			held, again, err := table.Commit(t.Context(), seen, next, one, "token")
			require.NoError(t, err)
			assert.Equal(t, remembers, again)
			if !remembers {
				assert.Equal(t, next.Seal, held.Seal, "the record tells that it was this commit")
			}
			assert.Equal(t, rows.Row{"n": 11}, table.Row("made"))
			assert.Len(t, table.Applied(), 1)

			table.Forget()
			_, again, err = table.Commit(t.Context(), seen, next, one, "token")
			require.NoError(t, err)
			assert.False(t, again, "a token that is forgotten")
		})
	}
}

func TestAnotherCallUnderATokenIsNoSuccess(t *testing.T) {
	t.Parallel()
	table, seen, next := claimed(t, true)
	_, _, err := table.Commit(t.Context(), seen, next, one, "token")
	require.NoError(t, err)
	other := rows.Writes{{Op: rows.Update, Key: "made", Add: map[string]int64{"n": 2}}}

	_, committed, err := table.Commit(t.Context(), seen, next, other, "token")
	var failed *store.Error
	require.ErrorAs(t, err, &failed)
	assert.False(t, failed.NotApplied, "the earlier call was")
	assert.False(t, committed)
}

func TestRefusedWritesChangeNothing(t *testing.T) {
	t.Parallel()
	table, seen, next := claimed(t, true)
	w := rows.Writes{one[0], {Op: rows.Check, Key: "gate", If: []rows.Condition{{Kind: rows.Present, Name: "open"}}}}

	_, committed, err := table.Commit(t.Context(), seen, next, w, "token")
	require.ErrorIs(t, err, store.ErrWritesRefused)
	assert.False(t, committed)
	held, _, err := table.Get(t.Context(), seen.Key)
	require.NoError(t, err)
	assert.Equal(t, store.StatusInProgress, held.Status)
	assert.Equal(t, rows.Row{"n": 10}, table.Row("made"))
	assert.Empty(t, table.Applied())

	require.NoError(t, table.Apply(t.Context(), rows.Writes{{Op: rows.Put, Key: "gate", Set: map[string]int64{"open": 1}}}, ""))
	_, committed, err = table.Commit(t.Context(), seen, next, w, "token")
	require.NoError(t, err)
	assert.True(t, committed, "the token of a refused call is free")
}

func TestWhatTheRecordRefusesComesFirst(t *testing.T) {
	t.Parallel()
	table, seen, next := claimed(t, false)
	w := rows.Writes{{Op: rows.Check, Key: "gate", If: []rows.Condition{{Kind: rows.Present, Name: "open"}}}}
	seen.Owner = "STALE"

	held, committed, err := table.Commit(t.Context(), seen, next, w, "token")
	require.NoError(t, err)
	assert.False(t, committed)
	assert.Equal(t, "OWNER", held.Owner)
}

type foreign struct{}

func (foreign) Len() int                  { return 1 }
func (foreign) Digest() [sha256.Size]byte { return [sha256.Size]byte{} }

func TestWhatIsNoTransactionIsNotBegun(t *testing.T) {
	t.Parallel()
	table, seen, next := claimed(t, false)
	_, _, err := table.Commit(t.Context(), seen, next, foreign{}, "token")
	require.ErrorIs(t, err, store.ErrNoCommit)

	for name, w := range map[string]rows.Writes{
		"one row twice":                {one[0], one[0]},
		"a check without a condition":  {{Op: rows.Check, Key: "a"}},
		"an update of nothing":         {{Op: rows.Update, Key: "a"}},
		"a number that is set and not": {{Op: rows.Update, Key: "a", Set: map[string]int64{"n": 1}, Add: map[string]int64{"n": 1}}},
	} {
		_, _, err := table.Commit(t.Context(), seen, next, w, "token")
		var failed *store.Error
		require.ErrorAs(t, err, &failed, name)
		assert.Equal(t, store.FailureRejected, failed.Kind, name)
		assert.True(t, failed.NotApplied, name)
	}
	var failed *store.Error
	require.ErrorAs(t, table.Apply(t.Context(), nil, "token"), &failed)
	assert.Equal(t, store.FailureRejected, failed.Kind)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = table.Commit(ctx, seen, next, one, "token")
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, store.FailureTimeout, failed.Kind)
	assert.Empty(t, table.Applied())
}

func TestDigestsTellWritesApart(t *testing.T) {
	t.Parallel()
	seen := map[[sha256.Size]byte]string{}
	for name, w := range map[string]rows.Writes{
		"none":           {},
		"add":            one,
		"set":            {{Op: rows.Update, Key: "made", Set: map[string]int64{"n": 1}}},
		"put":            {{Op: rows.Put, Key: "made", Set: map[string]int64{"n": 1}}},
		"other key":      {{Op: rows.Put, Key: "mad", Set: map[string]int64{"en": 1}}},
		"other number":   {{Op: rows.Put, Key: "made", Set: map[string]int64{"n": 2}}},
		"with condition": {{Op: rows.Put, Key: "made", Set: map[string]int64{"n": 1}, If: []rows.Condition{{Kind: rows.Absent, Name: "n"}}}},
		"twice":          {one[0], one[0]},
	} {
		before, is := seen[w.Digest()]
		assert.False(t, is, "%s has the digest of %s", name, before)
		seen[w.Digest()] = name
	}
}
