package cache_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// inline is the size in bytes of the largest result that a parted store keeps inside the record.
const inline = 1000

// parted is a store that keeps large results beside their records, and commits.
type parted struct {
	*memory.Store

	one   sync.RWMutex // a commit is alone
	mu    sync.Mutex
	parts map[string][]byte
	reads int
	rows  map[string]int
}

func newParted() *parted {
	return &parted{Store: memory.New(), parts: make(map[string][]byte), rows: make(map[string]int)}
}

func (p *parted) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	p.one.RLock()
	defer p.one.RUnlock()
	return p.Store.Claim(ctx, p.split(r), now)
}

func (p *parted) Delete(ctx context.Context, seen store.Record) (bool, error) {
	p.one.RLock()
	defer p.one.RUnlock()
	return p.Store.Delete(ctx, seen)
}

// rows are writes of a parted store.
type rows []storetest.Row

func (r rows) Len() int { return len(r) }

func (p *parted) Commit(ctx context.Context, seen, next store.Record, writes store.Writes,
	_ string,
) (store.Record, bool, error) {
	p.one.Lock()
	defer p.one.Unlock()
	if _, ok := writes.(rows); !ok {
		return store.Record{}, false,
			&store.Error{Op: "commit", Kind: store.FailureRejected, NotApplied: true, Err: store.ErrNoCommit}
	}
	held, found, err := p.Get(ctx, seen.Key)
	if err != nil || !found || !held.Matches(seen) {
		return held, false, err
	}
	if err := p.apply(ctx, writes); err != nil {
		return store.Record{}, false, err
	}
	return p.Store.Swap(ctx, seen, p.split(next))
}

func (p *parted) Apply(ctx context.Context, writes store.Writes, _ string) error {
	p.one.Lock()
	defer p.one.Unlock()
	return p.apply(ctx, writes)
}

// apply adds to all rows or to none.
func (p *parted) apply(ctx context.Context, writes store.Writes) error {
	taken := func(r storetest.Row) bool { return r.New && p.rows[r.Name] > 0 }
	all, ok := writes.(rows)
	switch {
	case !ok:
		return &store.Error{Op: "apply", Kind: store.FailureRejected, NotApplied: true, Err: store.ErrNoCommit}
	case ctx.Err() != nil:
		return &store.Error{Op: "apply", Kind: store.FailureTimeout, NotApplied: true, Err: ctx.Err()}
	case slices.ContainsFunc(all, taken):
		return &store.Error{Op: "apply", Kind: store.FailureRejected, NotApplied: true, Err: store.ErrWritesRefused}
	}
	for _, r := range all {
		p.rows[r.Name]++
	}
	return nil
}

// count is how often a row was written.
func (p *parted) count(name string) int {
	p.one.RLock()
	defer p.one.RUnlock()
	return p.rows[name]
}

func (p *parted) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	p.one.RLock()
	defer p.one.RUnlock()
	next.Steps = maps.Clone(next.Steps)
	for name, step := range next.Steps {
		r := p.split(next.OfStep(step))
		step.Result, step.Parts = r.Result, r.Parts
		next.Steps[name] = step
	}
	return p.Store.Swap(ctx, seen, p.split(next))
}

// split writes a large result beside the record, before the record itself.
func (p *parted) split(r store.Record) store.Record {
	if len(r.Result) <= inline || !r.Sealed(r.Result) {
		return r
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Parts = r.Key + "#" + r.Seal
	p.parts[r.Parts] = bytes.Clone(r.Result)
	r.Result = nil
	return r
}

func (p *parted) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, &store.Error{Op: "read result", Kind: store.FailureTimeout, Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	part, found := p.parts[r.Parts]
	if !found {
		return nil, &store.UnreadableError{Reason: "the part is missing"}
	}
	return bytes.Clone(part), nil
}

// spy is a store that notes the calls it gets. It answers none while it is down, and lets something
// happen between its answer and its caller.
type spy struct {
	inner store.Store

	mu    sync.Mutex
	ops   []string
	down  bool
	after func(op string)
}

var errDown = &store.Error{Op: "any", Kind: store.FailureAccessDenied, NotApplied: true, Err: errors.New("down")}

// called notes a call. What it returns is to be done when the call has been answered.
func (s *spy) called(op string) (answered func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = append(s.ops, op)
	if s.down {
		return func() {}, errDown
	}
	after := s.after
	s.after = nil // what happens then is not its own occasion
	if after == nil {
		return func() {}, nil
	}
	return func() { after(op) }, nil
}

// calls returns the calls since it was asked last.
func (s *spy) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ops := s.ops
	s.ops = nil
	return ops
}

func (s *spy) fail(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// meanwhile lets something happen when the next call has been answered and its caller does not know
// yet.
func (s *spy) meanwhile(happens func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = func(string) { happens() }
}

func (s *spy) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	answered, err := s.called("claim")
	if err != nil {
		return store.Record{}, false, err
	}
	defer answered()
	return s.inner.Claim(ctx, r, now)
}

func (s *spy) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	answered, err := s.called("swap")
	if err != nil {
		return store.Record{}, false, err
	}
	defer answered()
	return s.inner.Swap(ctx, seen, next)
}

func (s *spy) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	answered, err := s.called("commit")
	if err != nil {
		return store.Record{}, false, err
	}
	defer answered()
	return s.inner.(store.Committer).Commit(ctx, seen, next, writes, token)
}

func (s *spy) Apply(ctx context.Context, writes store.Writes, token string) error {
	answered, err := s.called("apply")
	if err != nil {
		return err
	}
	defer answered()
	return s.inner.(store.Committer).Apply(ctx, writes, token)
}

func (s *spy) Delete(ctx context.Context, seen store.Record) (bool, error) {
	answered, err := s.called("delete")
	if err != nil {
		return false, err
	}
	defer answered()
	return s.inner.Delete(ctx, seen)
}

func (s *spy) Get(ctx context.Context, key string) (store.Record, bool, error) {
	answered, err := s.called("get")
	if err != nil {
		return store.Record{}, false, err
	}
	defer answered()
	return s.inner.Get(ctx, key)
}

func (s *spy) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	answered, err := s.called("read result")
	if err != nil {
		return nil, err
	}
	defer answered()
	return s.inner.(store.ResultReader).ReadResult(ctx, r)
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
	spy   *spy
	cache *cache.Store
}

func newFixture(t *testing.T, inner store.Store, maxBytes int) *fixture {
	t.Helper()
	s := &spy{inner: inner}
	return &fixture{t: t, spy: s, cache: cache.New(s, maxBytes)}
}

// elsewhere is another process on the same store.
func (f *fixture) elsewhere() *fixture { return newFixture(f.t, f.spy.inner, 1<<20) }

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

// commits completes a record with writes, and returns what is held then.
func (f *fixture) commits(seen, next store.Record, writes ...storetest.Row) store.Record {
	f.t.Helper()
	next.Seal = store.CommitSeal(next.Owner, next.Result, 1)
	_, committed, err := f.cache.Commit(f.t.Context(), seen, next, rows(writes), "token of "+next.Owner)
	require.NoError(f.t, err)
	require.True(f.t, committed)
	return next
}

func (f *fixture) deletes(seen store.Record) {
	f.t.Helper()
	deleted, err := f.cache.Delete(f.t.Context(), seen)
	require.NoError(f.t, err)
	require.True(f.t, deleted)
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
func (f *fixture) duplicate(key string, now time.Time) (held store.Record, calls []string) {
	f.t.Helper()
	f.spy.calls()
	held, claimed, err := f.cache.Claim(f.t.Context(), running(key, "duplicate"), now)
	require.NoError(f.t, err)
	require.False(f.t, claimed)
	return held, f.spy.calls()
}

// remembers sees that the cache knows the record by itself.
func (f *fixture) remembers(want store.Record) {
	f.t.Helper()
	held, calls := f.duplicate(want.Key, start)
	require.Empty(f.t, calls, "it asked the store")
	require.Equal(f.t, want, held)
}

// forgets sees that the cache asks for a record that is held.
func (f *fixture) forgets(key string) {
	f.t.Helper()
	_, calls := f.duplicate(key, start)
	require.Equal(f.t, []string{"claim"}, calls)
}
