package cache_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
)

// inline is the size in bytes of the largest result that a parted store keeps inside the record.
const inline = 1000

func newParted() *rows.Table { return rows.Parted(inline) }

var errDown = errors.New("down")

// spy is a store that notes the calls it gets. It answers none while it is down, and lets something
// happen between an answer and its caller.
type spy struct {
	calls.Store

	down atomic.Bool

	mu        sync.Mutex
	made      []calls.Op // since it was asked last
	meanwhile func()     // happens when the next write or reading has been answered
}

func newSpy(inner store.Store) *spy {
	s := new(spy)
	s.Store = func(ctx context.Context, c calls.Call) calls.Reply {
		s.mu.Lock()
		s.made = append(s.made, c.Op)
		happens := s.meanwhile
		s.meanwhile = nil
		s.mu.Unlock()
		if happens != nil {
			defer happens()
		}
		if s.down.Load() {
			return calls.Reply{Err: errDown}
		}
		return c.Make(ctx, inner)
	}
	return s
}

// told returns the calls since it was asked last.
func (s *spy) told() []calls.Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.made
	s.made = nil
	return made
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

// does makes a call, which is done, and returns what it is told is held.
func (f *fixture) does(c calls.Call) store.Record {
	f.t.Helper()
	got := c.Make(f.t.Context(), f.cache)
	require.NoError(f.t, got.Err)
	require.True(f.t, got.Done)
	return got.Held
}

// fails makes a call while the store is down.
func (f *fixture) fails(c calls.Call) {
	f.t.Helper()
	f.spy.down.Store(true)
	require.ErrorIs(f.t, c.Make(f.t.Context(), f.cache).Err, errDown)
	f.spy.down.Store(false)
}

func claim(r store.Record, now time.Time) calls.Call {
	return calls.Call{Op: calls.Claim, Key: r.Key, Next: r, Now: now}
}

func swap(seen, next store.Record) calls.Call {
	return calls.Call{Op: calls.Swap, Key: seen.Key, Seen: seen, Next: next}
}

func remove(seen store.Record) calls.Call {
	return calls.Call{Op: calls.Delete, Key: seen.Key, Seen: seen}
}

func read(r store.Record) calls.Call {
	return calls.Call{Op: calls.ReadResult, Key: r.Key, Seen: r}
}

// reads sees that a record has this result, and which calls it takes to read it.
func (f *fixture) reads(r store.Record, want string, took ...calls.Op) {
	f.t.Helper()
	f.spy.told()
	result := f.does(read(r)).Result
	require.Equal(f.t, want, string(result))
	require.Equal(f.t, took, f.spy.told())
	clear(result)
}

// executes claims a key and completes it.
func (f *fixture) executes(key, result string) store.Record {
	f.t.Helper()
	first := running(key, "A")
	f.does(claim(first, start))
	done := completed(first, result)
	f.does(swap(first, done))
	f.forgets(key) // the claim that it refuses keeps it
	return done
}

// duplicate claims the key again at this instant, and returns what it is told is held and which
// calls that took.
func (f *fixture) duplicate(key string, now time.Time) (held store.Record, made []calls.Op) {
	f.t.Helper()
	f.spy.told()
	held, claimed, err := f.cache.Claim(f.t.Context(), running(key, "duplicate"), now)
	require.NoError(f.t, err)
	require.False(f.t, claimed)
	return held, f.spy.told()
}

// shows sees what a duplicate is shown at this instant, and which calls that takes.
func (f *fixture) shows(want store.Record, now time.Time, took ...calls.Op) {
	f.t.Helper()
	held, made := f.duplicate(want.Key, now)
	require.Equal(f.t, want, held)
	require.Equal(f.t, slices.Concat(took), slices.Concat(made))
}

// remembers sees that the cache knows the record by itself.
func (f *fixture) remembers(want store.Record) {
	f.t.Helper()
	f.shows(want, start)
}

// forgets sees that the cache asks for a record that is held.
func (f *fixture) forgets(key string) {
	f.t.Helper()
	_, made := f.duplicate(key, start)
	require.Equal(f.t, []calls.Op{calls.Claim}, made)
}
