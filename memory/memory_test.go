package memory_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return memory.New() })
}

func TestZeroValueIsReadyToUse(t *testing.T) {
	t.Parallel()
	s := new(memory.Store)
	now := time.Unix(1_800_000_000, 0)
	r := record("charge#1", now.Add(time.Hour))
	for _, op := range []calls.Op{calls.Get, calls.Swap, calls.Delete} {
		require.Equal(t, calls.Reply{}, calls.Call{Op: op, Key: r.Key, Seen: r, Next: r}.Make(t.Context(), s))
	}
	claims(t, s, r, now)
	assert.Equal(t, 1, s.Len())
}

func TestEndedContextIsATimeoutThatAppliedNothing(t *testing.T) {
	t.Parallel()
	s := memory.New()
	r := record("charge#1", time.Unix(1_800_000_000, 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, op := range []calls.Op{calls.Claim, calls.Swap, calls.Delete, calls.Get} {
		want := &store.Error{Op: string(op), Kind: store.FailureTimeout, NotApplied: true, Err: context.Canceled}
		got := calls.Call{Op: op, Key: r.Key, Seen: r, Next: r, Now: r.Expiry}.Make(ctx, s)
		assert.Equal(t, calls.Reply{Err: want}, got)
	}
	assert.Zero(t, s.Len())
}

func TestARecordIsNeverHeldUnderAnotherKeyThanItsOwn(t *testing.T) {
	t.Parallel()
	s := memory.New()
	r := record("charge#1", time.Unix(1_800_000_000, 0))
	claims(t, s, r, r.CreatedAt)
	next := r
	next.Key = "charge#2"
	swaps(t, s, r, next)

	held, found, err := s.Get(t.Context(), "charge#1")
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, "charge#1", held.Key)
	assert.Equal(t, 1, s.Len())
}

// record returns a record in progress that was claimed in the hour before its expiry.
func record(key string, expiry time.Time) store.Record {
	return store.Record{
		Key: key, Status: store.StatusInProgress, Owner: "A", Attempt: 1,
		Lease: expiry.Add(-59 * time.Minute), Expiry: expiry, CreatedAt: expiry.Add(-time.Hour),
	}
}

func claims(t *testing.T, s *memory.Store, r store.Record, now time.Time) {
	t.Helper()
	_, claimed, err := s.Claim(t.Context(), r, now)
	require.NoError(t, err)
	require.True(t, claimed)
}

func swaps(t *testing.T, s *memory.Store, seen, next store.Record) {
	t.Helper()
	_, swapped, err := s.Swap(t.Context(), seen, next)
	require.NoError(t, err)
	require.True(t, swapped)
}

// Only an owner has a lease that grows: what nobody holds is changed by whoever has seen it.
func TestTheLeaseOfARecordWithoutAnOwnerMayMoveBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := memory.New()
	seen := record("charge#1", now.Add(time.Hour))
	seen.Owner = ""
	claims(t, s, seen, now)
	next := seen
	next.Lease = now
	swaps(t, s, seen, next)
}

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
