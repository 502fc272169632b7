package cache_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/dev/partstore"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// inline is the size in bytes of the largest result that a parted store keeps inside the record.
const inline = 1000

func newParted() *partstore.Store { return partstore.New(inline) }

// The calls of a store.
const (
	claim      = storetest.OpClaim
	swap       = storetest.OpSwap
	remove     = storetest.OpDelete
	get        = storetest.OpGet
	readResult = storetest.OpReadResult
)

// spy is a store that notes the calls it gets. It answers none while it is down, and lets something
// happen between an answer and its caller.
type spy struct {
	*storetest.Faulty

	down atomic.Bool
	told int // of its calls

	mu    sync.Mutex
	after func()
}

func newSpy(inner store.Store) *spy {
	s := new(spy)
	s.Faulty = storetest.NewFaulty(inner, func(storetest.Call) storetest.Fault {
		if s.down.Load() {
			return storetest.Deny
		}
		return storetest.Pass
	})
	return s
}

// calls returns the calls since it was asked last.
func (s *spy) calls() []storetest.Op {
	all := s.Ops()
	calls := all[s.told:]
	s.told = len(all)
	return calls
}

// meanwhile lets something happen when the next claim, swap or reading of a result has been
// answered and its caller does not know yet.
func (s *spy) meanwhile(happens func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = happens
}

// answered returns what happens when a call has been answered, which is not its own occasion.
func (s *spy) answered() (happens func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	happens, s.after = s.after, nil
	if happens == nil {
		return func() {}
	}
	return happens
}

func (s *spy) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	defer s.answered()()
	return s.Faulty.Claim(ctx, r, now)
}

func (s *spy) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	defer s.answered()()
	return s.Faulty.Swap(ctx, seen, next)
}

func (s *spy) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	defer s.answered()()
	return s.Faulty.ReadResult(ctx, r)
}

// start is the instant at which the records of these tests are claimed, and expiry that at which
// they expire.
var (
	start  = time.Unix(1_800_000_000, 0)
	expiry = start.Add(time.Hour)
)

// running returns a record in progress.
func running(key, owner string) store.Record {
	return store.Record{
		Key: key, Status: store.StatusInProgress, Owner: owner, Fingerprint: "1:f", Attempt: 1,
		Lease: start.Add(time.Minute), Expiry: expiry, CreatedAt: start,
	}
}

// completed returns the record as its owner completes it.
func completed(r store.Record, result string) store.Record {
	r.Status, r.Result = store.StatusCompleted, []byte(result)
	r.Seal = store.Seal(r.Owner, r.Result)
	return r
}

// fixture is a cache before a spy, and asks both.
type fixture struct {
	t     *testing.T
	inner store.Store
	spy   *spy
	cache *cache.Store
}

func newFixture(t *testing.T, inner store.Store, maxBytes int) *fixture {
	t.Helper()
	s := newSpy(inner)
	return &fixture{t: t, inner: inner, spy: s, cache: cache.New(s, maxBytes)}
}

// elsewhere is another process on the same store.
func (f *fixture) elsewhere() *fixture { return newFixture(f.t, f.inner, 1<<20) }

// outage does something while the store is down, which fails.
func (f *fixture) outage(call func() error) {
	f.t.Helper()
	f.spy.down.Store(true)
	require.ErrorIs(f.t, call(), storetest.ErrInjected)
	f.spy.down.Store(false)
}

func (f *fixture) claims(r store.Record, now time.Time) {
	f.t.Helper()
	_, claimed, err := f.cache.Claim(f.t.Context(), r, now)
	require.NoError(f.t, err)
	require.True(f.t, claimed)
}

func (f *fixture) swaps(seen, next store.Record) {
	f.t.Helper()
	_, swapped, err := f.cache.Swap(f.t.Context(), seen, next)
	require.NoError(f.t, err)
	require.True(f.t, swapped)
}

func (f *fixture) deletes(seen store.Record) {
	f.t.Helper()
	deleted, err := f.cache.Delete(f.t.Context(), seen)
	require.NoError(f.t, err)
	require.True(f.t, deleted)
}

// looks returns what is held.
func (f *fixture) looks(key string) store.Record {
	f.t.Helper()
	r, found, err := f.cache.Get(f.t.Context(), key)
	require.NoError(f.t, err)
	require.True(f.t, found)
	return r
}

// reads sees that a record has this result, and which calls it takes to read it.
func (f *fixture) reads(r store.Record, want string, calls ...storetest.Op) {
	f.t.Helper()
	f.spy.calls()
	result, err := f.cache.ReadResult(f.t.Context(), r)
	require.NoError(f.t, err)
	require.Equal(f.t, want, string(result))
	require.Equal(f.t, slices.Concat(calls), slices.Concat(f.spy.calls()))
	clear(result)
}

// executes claims a key and completes it.
func (f *fixture) executes(key, result string) store.Record {
	f.t.Helper()
	first := running(key, "A")
	f.claims(first, start)
	done := completed(first, result)
	f.swaps(first, done)
	f.forgets(key) // the claim that it refuses keeps it
	return done
}

// duplicate claims the key again at this instant, and returns what it is told is held and which
// calls that took.
func (f *fixture) duplicate(key string, now time.Time) (held store.Record, calls []storetest.Op) {
	f.t.Helper()
	f.spy.calls()
	held, claimed, err := f.cache.Claim(f.t.Context(), running(key, "duplicate"), now)
	require.NoError(f.t, err)
	require.False(f.t, claimed)
	return held, f.spy.calls()
}

// shows sees what a duplicate is shown at this instant, and which calls that takes.
func (f *fixture) shows(want store.Record, now time.Time, calls ...storetest.Op) {
	f.t.Helper()
	held, made := f.duplicate(want.Key, now)
	require.Equal(f.t, want, held)
	require.Equal(f.t, slices.Concat(calls), slices.Concat(made))
}

// remembers sees that the cache knows the record by itself.
func (f *fixture) remembers(want store.Record) {
	f.t.Helper()
	f.shows(want, start)
}

// forgets sees that the cache asks for a record that is held.
func (f *fixture) forgets(key string) {
	f.t.Helper()
	_, calls := f.duplicate(key, start)
	require.Equal(f.t, []storetest.Op{claim}, calls)
}
