package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/calls"
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
