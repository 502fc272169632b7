package memory_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// TestExpiredRecordsMakeRoomForNewOnes, whatever their status, and not before their expiry has
// passed.
func TestExpiredRecordsMakeRoomForNewOnes(t *testing.T) {
	t.Parallel()
	const many = 100
	s, expiry := memory.New(), time.Unix(1_800_000_000, 0)
	for n := range many {
		r := record(fmt.Sprint("charge#", n), expiry)
		r.Status = []store.Status{store.StatusInProgress, store.StatusCompleted, store.StatusUnknown}[n%3]
		claims(t, s, r, r.CreatedAt)
	}
	for n := range 3 * many {
		claims(t, s, record(fmt.Sprint("late#", n), expiry.Add(2*time.Hour)), expiry)
	}
	require.Equal(t, 4*many, s.Len())
	for n := range 5 * many {
		claims(t, s, record(fmt.Sprint("later#", n), expiry.Add(2*time.Hour)), expiry.Add(time.Nanosecond))
	}
	assert.Equal(t, 8*many, s.Len())
}

// TestAClaimDropsNeitherTheRecordThatRefusesItNorItsOwn, although that has expired.
func TestAClaimDropsNeitherTheRecordThatRefusesItNorItsOwn(t *testing.T) {
	t.Parallel()
	s, expiry := memory.New(), time.Unix(1_800_000_000, 0)
	r := record("charge#1", expiry)
	r.Lease = expiry.Add(2 * time.Hour)
	claims(t, s, r, expiry.Add(time.Hour))
	_, claimed, err := s.Claim(t.Context(), r, expiry.Add(time.Hour))
	require.NoError(t, err)
	assert.False(t, claimed)
	assert.Equal(t, 1, s.Len())
}

// TestAProcessThatRunsForLongDoesNotGrow lives through a day with a claim in every second and a
// retention of an hour. It is not parallel because it measures the heap.
func TestAProcessThatRunsForLongDoesNotGrow(t *testing.T) {
	const (
		retention = time.Hour
		live      = int(retention/time.Second) + 1
		lifetime  = 24 * 60 * 60
	)
	ctx, s, now := t.Context(), memory.New(), time.Unix(1_800_000_000, 0)
	var early uint64
	for n := range lifetime {
		now = now.Add(time.Second)
		r := record(fmt.Sprint("charge#", n), now.Add(retention))
		claims(t, s, r, now)
		require.LessOrEqual(t, s.Len(), 2*live+1)
		if n == lifetime/10 {
			early = heap()
		}
		next := r
		switch n % 4 {
		case 0: // crashed
			continue
		case 1:
			next.Status, next.Result = store.StatusCompleted, make([]byte, 100)
		case 2:
			next.Status = store.StatusUnknown
		case 3:
			_, err := s.Delete(ctx, r)
			require.NoError(t, err)
			continue
		}
		swaps(t, s, r, next)
	}
	assert.Less(t, heap(), early+1<<20, "bytes on the heap; after a tenth of the time it was %d", early)
	runtime.KeepAlive(s)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
