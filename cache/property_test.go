package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/dev/partstore"
	"github.com/go-idempotent/idempotent/store"
)

// TestNobodyCanTellACacheFromItsStore makes the same calls to a store and to a cache before another
// one, of any size, and compares every answer. Whatever is handed in or out is spoiled afterwards.
func TestNobodyCanTellACacheFromItsStore(t *testing.T) {
	t.Parallel()
	spared := 0
	rapid.Check(t, func(t *rapid.T) {
		behind := newSpy(newParted())
		p := &pair{
			T: t, now: start, plain: newParted(), seen: make(map[string]store.Record),
			cache: cache.New(behind, rapid.SampledFrom([]int{1024, 1500, 4000, 1 << 20}).Draw(t, "bytes")),
		}
		for n := range rapid.IntRange(1, 60).Draw(t, "calls") {
			behind.calls()
			p.call(n)
			if len(behind.calls()) == 0 {
				spared++
			}
		}
	})
	require.Greater(t, spared, 20, "calls that the store was spared")
}

// pair is a store, and a cache before another one that holds the same.
type pair struct {
	*rapid.T

	now   time.Time
	plain *partstore.Store
	cache *cache.Store
	// seen is the last record that was written or shown under a key.
	seen map[string]store.Record
}

// call makes one call to both.
func (p *pair) call(n int) {
	key := fmt.Sprint("charge#", rapid.IntRange(0, 2).Draw(p.T, "key"))
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	switch op := rapid.SampledFrom([]string{
		"claim", "claim", "swap", "commit", "delete", "get", "wait", "cancelled",
	}).Draw(p.T, "op"); op {
	case "wait":
		p.now = p.now.Add(time.Duration(rapid.IntRange(1, 2500).Draw(p.T, "milliseconds")) * time.Millisecond)
	case "get":
		p.get(key)
	case "cancelled":
		cancel()
		fallthrough
	case "claim":
		next := p.record(key, n)
		if p.both(next, func(s full, next store.Record) (store.Record, bool, error) {
			return s.Claim(ctx, next, p.now)
		}) {
			p.seen[key] = next
		}
	default:
		if seen, was := p.seen[key]; was {
			p.change(op, seen, n)
		}
	}
}

// full is a store with all that a cache passes on.
type full interface {
	store.Store
	store.Committer
	store.ResultReader
}

// change makes a call that may replace the record that was seen, and looks what became of it.
func (p *pair) change(op string, seen store.Record, n int) {
	if rapid.Bool().Draw(p.T, "whatever its lease") {
		seen.Lease = time.Time{}
	}
	next, isNew := p.next(seen, n), rapid.Bool().Draw(p.T, "new")
	writes := partstore.Writes{{Name: fmt.Sprint("row ", n)}, {Name: "shared", New: isNew}}
	token := fmt.Sprint("token ", n)
	p.both(next, func(s full, next store.Record) (held store.Record, done bool, err error) {
		switch {
		case op == "delete":
			done, err = s.Delete(p.Context(), seen)
			return held, done, err
		case op == "commit" && next.Status == store.StatusCompleted: // with a write that refuses now and then
			next.Seal = store.CommitSeal(next.Owner, next.Result, 1)
			return s.Commit(p.Context(), seen, next, writes, token)
		default:
			return s.Swap(p.Context(), seen, next)
		}
	})
	p.get(seen.Key)
}

// record is one that nobody else writes.
func (p *pair) record(key string, n int) store.Record {
	r := running(key, fmt.Sprint("owner ", n))
	r.Expiry = p.now.Truncate(time.Second).Add(time.Duration(rapid.IntRange(0, 9).Draw(p.T, "retention")) * time.Second)
	r.Lease = p.now.Add(time.Duration(n) * time.Millisecond)
	return p.state(r, n)
}

func (p *pair) next(seen store.Record, n int) store.Record {
	r := p.record(seen.Key, n)
	if seen.Owner != "" && rapid.Bool().Draw(p.T, "same owner") {
		r.Owner = seen.Owner
	}
	if rapid.Bool().Draw(p.T, "lease as it was") {
		r.Lease = time.Time{}
	}
	return p.state(r, n)
}

func (p *pair) state(r store.Record, n int) store.Record {
	r.Status = rapid.SampledFrom([]store.Status{
		store.StatusCompleted, store.StatusCompleted, store.StatusInProgress, store.StatusUnknown,
	}).Draw(p.T, "status")
	r.Result, r.Seal = nil, ""
	if r.Status == store.StatusCompleted {
		size := rapid.SampledFrom([]int{0, 10, inline - 10, inline + 100, 3 * inline}).Draw(p.T, "size")
		r = completed(r, fmt.Sprintf(`"%d %0*d"`, n, size, 0))
	}
	return r
}

// both makes a call to both stores, each with bytes of its own that are spoiled afterwards, and
// compares the answers.
func (p *pair) both(next store.Record, call func(s full, next store.Record) (store.Record, bool, error)) (done bool) {
	want, wantDone, wantErr := call(p.plain, spare(next))
	handed := spare(next)
	got, done, err := call(p.cache, handed)
	clear(handed.Result)
	require.Equal(p.T, wantErr, err)
	require.Equal(p.T, wantDone, done)
	if err == nil && !done {
		p.same(want, got)
	}
	return done
}

func (p *pair) get(key string) {
	want, found, err := p.plain.Get(p.Context(), key)
	require.NoError(p.T, err)
	got, has, err := p.cache.Get(p.Context(), key)
	require.NoError(p.T, err)
	require.Equal(p.T, found, has, "found")
	p.same(want, got)
}

// same compares what was shown, with the result wherever it is kept, and spoils it.
func (p *pair) same(want, got store.Record) {
	if want.Key != "" {
		p.seen[want.Key] = spare(want)
	}
	want, got = p.whole(p.plain, want), p.whole(p.cache, got)
	require.Equal(p.T, want, got)
	clear(got.Result)
}

func (p *pair) whole(s store.ResultReader, r store.Record) store.Record {
	if r.Parts == "" {
		return r
	}
	result, err := s.ReadResult(p.Context(), r)
	require.NoError(p.T, err)
	r.Result, r.Parts = result, ""
	return r
}

// spare is a record with bytes of its own.
func spare(r store.Record) store.Record {
	if r.Result != nil {
		r.Result = append([]byte{}, r.Result...)
	}
	return r
}
