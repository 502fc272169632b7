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

// TestNothingPilesUp: what is counted is what is kept, and calls leave nothing behind, however they
// end.
func TestNothingPilesUp(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := New(memory.New(), 10_000)
	for n := range 1000 {
		key := fmt.Sprint("charge#", n%50)
		r := store.Record{
			Key: key, Status: store.StatusCompleted, Owner: "A", Expiry: now.Add(time.Hour),
			Result: make([]byte, n), Seal: "A",
		}
		ctx, cancel := context.WithCancel(t.Context())
		if n%7 == 0 {
			cancel()
		}
		_, _, err := s.Claim(ctx, r, now)
		_, _, err2 := s.Swap(ctx, r, r)
		_, _, err4 := s.Claim(ctx, r, now)
		_, _, err3 := s.Get(ctx, key)
		if n%7 != 0 {
			require.NoError(t, errors.Join(err, err2, err3, err4))
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
	for _, call := range []func(){
		func() { _, _, _ = s.Claim(t.Context(), store.Record{}, time.Time{}) },
		func() { _, _, _ = s.Swap(t.Context(), store.Record{}, store.Record{}) },
		func() { _, _, _ = s.Commit(t.Context(), store.Record{}, store.Record{}, nil, "") },
		func() { _, _ = s.Delete(t.Context(), store.Record{}) },
	} {
		require.Panics(t, call)
		require.Zero(t, s.of("").running)
	}
}
