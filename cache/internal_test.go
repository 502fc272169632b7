package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// TestNothingPilesUp: what is counted is what is kept, and calls leave nothing behind, however they end.
func TestNothingPilesUp(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := New(memory.New(), 10_000)
	for n := range 1000 {
		key := fmt.Sprint("charge#", n%50)
		r := store.Record{
			Key: key, Status: store.StatusCompleted, Owner: "A", Expiry: now.Add(time.Hour), Result: make([]byte, n),
		}
		ctx, cancel := context.WithCancel(t.Context())
		if n%7 == 0 {
			cancel()
		}
		_, _, err := s.Claim(ctx, r, now)
		_, _, err2 := s.Swap(ctx, r, r)
		_, _, err3 := s.Get(ctx, key)
		if n%7 != 0 {
			require.NoError(t, errors.Join(err, err2, err3))
		}
		if n%5 == 0 {
			_, err = s.Delete(ctx, r)
			require.Equal(t, n%7 != 0, err == nil)
		}
		cancel()

		sum := 0
		for _, kept := range s.kept.Values() {
			sum += size(kept)
		}
		require.Equal(t, sum, s.bytes)
		require.LessOrEqual(t, s.bytes, 10_000)
		require.Empty(t, s.inside)
	}
	require.Positive(t, s.kept.Len())
}

func TestAStoreThatPanicsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := New(struct {
		store.Store
		store.Committer
	}{}, leastBytes)
	for _, call := range []func(){
		func() { _, _, _ = s.Claim(t.Context(), store.Record{}, time.Time{}) },
		func() { _, _, _ = s.Swap(t.Context(), store.Record{}, store.Record{}) },
		func() { _, _, _ = s.Commit(t.Context(), store.Record{}, store.Record{}, nil, "") },
		func() { _, _ = s.Delete(t.Context(), store.Record{}) },
		func() { _, _, _ = s.Get(t.Context(), "") },
	} {
		require.Panics(t, call)
		require.Empty(t, s.inside)
	}
}

// TestClaimsAreRememberedUntilTheyEnd: also one that was taken over, renewed, or undone because its reply was lost.
func TestClaimsAreRememberedUntilTheyEnd(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := New(memory.New(), 10_000)
	swap := func(seen, next store.Record) {
		t.Helper()
		_, swapped, err := s.Swap(t.Context(), seen, next)
		require.NoError(t, err)
		require.True(t, swapped)
	}
	crashed := store.Record{
		Key: "charge#1", Status: store.StatusInProgress, Owner: "A", Lease: now.Add(time.Minute), Expiry: now.Add(time.Hour),
		Attempt: 1,
	}
	_, _, err := s.inner.Claim(t.Context(), crashed, now)
	require.NoError(t, err)
	taken := crashed
	taken.Owner, taken.Lease, taken.Attempt = "B", now.Add(time.Hour), 2
	swap(crashed, taken)
	require.Len(t, s.claims, 1)
	swap(taken, taken)
	require.Len(t, s.claims, 1, "renewed")
	_, err = s.Delete(t.Context(), taken)
	require.NoError(t, err)
	require.Empty(t, s.claims, "released")

	_, _, err = s.inner.Claim(t.Context(), taken, now)
	require.NoError(t, err)
	restored := crashed
	restored.Owner = "nobody"
	swap(taken, restored)
	require.Empty(t, s.claims, "undone, after a takeover whose reply was lost")
}

// TestACommitThatAWriteRefusesLeavesTheClaim, and no more: a claim that another process has made is not this one's.
func TestACommitThatAWriteRefusesLeavesTheClaim(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := New(struct {
		store.Store
		store.Committer
	}{memory.New(), declines{}}, 10_000)
	mine := store.Record{Key: "order#1", Status: store.StatusInProgress, Owner: "A", Lease: now.Add(time.Minute), Expiry: now.Add(time.Hour)}
	_, _, err := s.Claim(t.Context(), mine, now)
	require.NoError(t, err)
	other := mine
	other.Key = "order#2"
	for _, r := range []store.Record{mine, other} {
		_, _, err = s.Commit(t.Context(), r, r, nil, "token")
		require.ErrorIs(t, err, store.ErrWritesRefused)
	}
	require.Equal(t, map[string]claim{mine.Key: {"A", mine.Lease}}, s.claims)
}

// declines commits nothing, because a write refuses.
type declines struct{}

func (declines) Commit(context.Context, store.Record, store.Record, store.Writes, string) (store.Record, bool, error) {
	return store.Record{}, false, store.ErrWritesRefused
}

func (declines) Apply(context.Context, store.Writes, string) error { return store.ErrWritesRefused }
