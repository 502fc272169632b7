package cache

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// TestNothingPilesUp: what is counted is what is kept, and calls leave nothing behind, however they
// end.
func TestNothingPilesUp(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := New(memory.New(), 10_000)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range 1000 {
		key := fmt.Sprint("charge#", n%50)
		r := store.Record{
			Key: key, Status: store.StatusCompleted, Owner: "A", Expiry: now.Add(time.Hour),
			Result: make([]byte, n), Seal: "A",
		}
		ctx := t.Context()
		if n%7 == 0 {
			ctx = ended
		}
		all := []calls.Call{
			{Op: calls.Claim, Next: r, Now: now},
			{Op: calls.Swap, Seen: r, Next: r},
			{Op: calls.Claim, Next: r, Now: now},
			{Op: calls.Get, Key: key},
			{Op: calls.Delete, Seen: r},
		}
		for _, c := range all[:len(all)-min(1, n%5)] {
			require.Equal(t, ctx == ended, c.Make(ctx, s).Err != nil)
		}

		sum := 0
		for _, kept := range s.kept.Values() {
			sum += size(kept)
		}
		require.Equal(t, sum, s.bytes)
		require.LessOrEqual(t, s.bytes, 10_000)
		require.Zero(t, s.of(key).running)
	}
	require.Positive(t, s.kept.Len())
}

func TestAStoreThatPanicsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := New(struct {
		store.Store
		store.Committer
	}{}, leastBytes)
	for _, op := range []calls.Op{calls.Claim, calls.Swap, calls.Commit, calls.Delete} {
		require.Panics(t, func() { calls.Call{Op: op}.Make(t.Context(), s) })
		require.Zero(t, s.of("").running)
	}
}
