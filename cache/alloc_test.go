//go:build !race

package cache_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// TestAllocationsOfAReplay: the copy of the result is the only one. Allocations are those of the whole process, so this
// test does not run in parallel with another one. The race detector adds its own.
func TestAllocationsOfAReplay(t *testing.T) {
	ctx, s := t.Context(), cache.New(memory.New(), 1<<20)
	done := completed(running("charge#1", "A"), `{"id":"ch_1"}`)
	_, _, err := s.Claim(ctx, done, start)
	require.NoError(t, err)
	again := running(done.Key, "B")
	_, _, err = s.Claim(ctx, again, start) // it is refused, and what refuses it is kept
	require.NoError(t, err)
	var held store.Record
	allocations := testing.AllocsPerRun(100, func() {
		var claimed bool
		var failed error
		held, claimed, failed = s.Claim(ctx, again, start)
		if claimed {
			failed = errors.New("the claim was not refused")
		}
		err = errors.Join(err, failed)
	})
	require.NoError(t, err)
	require.Equal(t, done, held)
	require.LessOrEqual(t, allocations, 1.0)
}
