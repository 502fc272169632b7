// Package cache answers replays from the memory of the process. A [Store] stands before another
// [store.Store] and remembers completed records, as many as fit into a number of bytes.
//
//	store := cache.New(dynamo.New(client, table), 16<<20)
//	lambda.Start(idempotent.Wrap(charge, store))
//
// A completed record that refuses a claim is remembered. From then on a delivery of its key is
// answered without a call of the store, also while that cannot be reached: a replay, whatever its
// size, or a mismatch. Everything else goes to the store: claims, takeovers, settlements.
//
// # What is guaranteed
//
// What is remembered is what the store holds. This module replaces a completed record only after
// its expiry, and a cache answers with it until two seconds before that, whatever the margin of a
// handler is: no other process can have replaced it by then, if clocks differ by no more. Through
// one Store no call sees a record that an earlier call has replaced or deleted.
//
// The exception is what happens behind the module's back: a person or another program deletes or
// alters a completed record, the table is restored from a backup, or AWS Powertools overwrites the
// record. Processes that remember it go on answering with it, until they end or need the room, at
// the latest until the expiry it had. So do without a cache where operators delete records so that
// a request executes again, and where functions under AWS Powertools share the table.
//
// # When to use it
//
// Lambda keeps a sandbox for minutes to hours and gives it one delivery at a time: of a function
// that runs in fifty sandboxes, any may get a retry. So a cache pays where clients retry in bursts
// and few sandboxes serve them, where results are large, or where one process serves many
// deliveries at once. It saves what a replay costs; it is no protection by itself.
package cache

import (
	"bytes"
	"context"
	"hash/maphash"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/store"
)

// Store is a [store.Store] that remembers the completed records of another one. Make it with [New];
// the zero value is not usable. It is safe for concurrent use, and one serves any number of
// handlers. It has no clock and no goroutine. Bytes are copied on their way in and out.
//
// Its errors are those of the store behind it; a call whose context has ended goes there, too.
type Store struct {
	inner    store.Store
	maxBytes int
	seed     maphash.Seed

	mu      sync.Mutex
	bytes   int // of what is kept
	kept    *simplelru.LRU[string, store.Record]
	changes [64]changes
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.Committer    = (*Store)(nil)
	_ store.ResultReader = (*Store)(nil)
	_ store.Lister       = (*Store)(nil)
)

// New returns a store that answers from memory where it can and asks inner where it cannot. It
// keeps records of up to maxBytes in all and makes room by forgetting those that were not used for
// longest. A record counts with its texts, its result and what it costs to keep it, some 600 bytes;
// one that is larger than maxBytes is not kept. Go's garbage collector may need as much again.
//
// If inner keeps results in parts, it has to implement [store.ResultReader]. That,
// [store.Committer] and [store.Lister] are passed on; what else inner can do is not.
//
// It panics with a [*store.ConfigError] if inner is nil, or if maxBytes is less than 1,024.
func New(inner store.Store, maxBytes int) *Store {
	p := setup.Of("cache.New")
	p.Addf(setup.IsNil(inner), "the store is nil")
	p.Addf(maxBytes < leastBytes, "%d bytes are less than %d, in which one small record fits", maxBytes, leastBytes)
	p.Panic()
	s := &Store{inner: inner, maxBytes: maxBytes, seed: maphash.MakeSeed()}
	// it takes any positive size
	s.kept, _ = simplelru.NewLRU(math.MaxInt, func(_ string, r store.Record) { s.bytes -= size(r) })
	return s
}

// Claim implements [store.Store]. A completed record that is kept refuses the claim without a call
// of the store behind, until a little before its expiry. One that refuses it there is kept.
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	held, found, before := s.find(r.Key, now)
	if found && ctx.Err() == nil {
		held.Result = bytes.Clone(held.Result) // kept bytes are never written again
		return held, false, nil
	}
	held, claimed, err := s.inner.Claim(ctx, r, now)
	switch {
	case claimed, err != nil && !found: // it has replaced a record, or may have
		s.change(r.Key)()
	case err == nil:
		s.learn(held, before)
	}
	return held, claimed, err
}

// Swap implements [store.Store]. The store behind decides, and what is kept is forgotten.
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	defer s.change(seen.Key)()
	return s.inner.Swap(ctx, seen, next)
}

// Commit implements [store.Committer], likewise. If the store behind cannot commit, the error wraps
// [store.ErrNoCommit].
func (s *Store) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	behind, err := store.CommitterOf(s.inner)
	if err != nil {
		return store.Record{}, false, err
	}
	defer s.change(seen.Key)()
	return behind.Commit(ctx, seen, next, writes, token)
}

// Apply implements [store.Committer]. It touches no record.
func (s *Store) Apply(ctx context.Context, writes store.Writes, token string) error {
	behind, err := store.CommitterOf(s.inner)
	if err != nil {
		return err
	}
	return behind.Apply(ctx, writes, token)
}

// Delete implements [store.Store]. The store behind decides, and what is kept is forgotten.
func (s *Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	defer s.change(seen.Key)()
	return s.inner.Delete(ctx, seen)
}

// Get implements [store.Store]. It always asks the store behind: without an instant it could not
// know whether a record that is kept has expired and was replaced elsewhere.
func (s *Store) Get(ctx context.Context, key string) (store.Record, bool, error) {
	return s.inner.Get(ctx, key)
}

// ReadResult implements [store.ResultReader]. What it reads for a record that is kept is kept with
// it. If the store behind cannot read results, the error is a [*store.UnreadableError].
func (s *Store) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	if held, found := s.withResult(r, nil); found && held.Parts == "" && ctx.Err() == nil {
		return bytes.Clone(held.Result), nil
	}
	reader, ok := s.inner.(store.ResultReader)
	if !ok {
		return nil, &store.UnreadableError{Reason: "its result is kept in parts, which this store cannot read"}
	}
	result, err := reader.ReadResult(ctx, r)
	if err == nil {
		s.withResult(r, result)
	}
	return result, err
}

// List implements [store.Lister]. It always asks the store behind. If that cannot list, the error
// wraps [store.ErrNoListing].
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return store.ListerOf(s.inner).List(ctx, q)
}

// ListCost implements [store.Lister], likewise.
func (s *Store) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	return store.ListerOf(s.inner).ListCost(ctx, q)
}

const (
	// overhead is what keeping a record costs beside its texts and its result, in bytes: the record
	// itself, its place in the order of use and in the index.
	overhead = 640
	// leastBytes has room for a record of this module, which has some 200 bytes of texts.
	leastBytes = 1 << 10
	// margin is how long before the expiry of a record a cache stops to answer with it: as much as
	// clocks may differ. It is the default margin of a handler.
	margin = 2 * time.Second
)

// size is what a record counts in bytes. Go's allocator takes up to a quarter more than it has to.
func size(r store.Record) int {
	n := len(r.Result) + 16*len(r.Derived)
	for _, text := range append([]string{
		r.Key, r.Owner, r.Fingerprint, r.Seal, r.Reason, r.Parts, r.SettledBy, r.SettledReason, r.Attention, r.Trace,
		r.Story,
	}, r.Derived...) {
		n += len(text)
	}
	return overhead + n + n/4
}

// changes are the calls that may replace records: how many have begun, and how many of them run.
// Keys share them by their hash: a change of another key can only keep a claim from learning.
type changes struct{ begun, running uint32 }

func (s *Store) of(key string) *changes {
	return &s.changes[maphash.String(s.seed, key)%uint64(len(s.changes))]
}

// find returns the record that refuses a claim at this instant, if it is kept, and the changes
// before the claim.
func (s *Store) find(key string, now time.Time) (r store.Record, found bool, before changes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found = s.kept.Get(key)
	if found && r.Claimable(now.Add(margin)) {
		s.kept.Remove(key)
		found = false
	}
	return r, found, *s.of(key)
}

// learn keeps the completed record that has refused a claim, if nothing can have replaced it since.
func (s *Store) learn(r store.Record, before changes) {
	if r.Status != store.StatusCompleted {
		return
	}
	r.Result = bytes.Clone(r.Result)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before.running == 0 && before == *s.of(r.Key) && !s.kept.Contains(r.Key) {
		s.put(r)
	}
}

// put keeps a record if it fits, in place of the one under its key. The mutex is held.
func (s *Store) put(r store.Record) {
	n := size(r)
	if n > s.maxBytes {
		return
	}
	s.kept.Remove(r.Key)
	for s.bytes+n > s.maxBytes {
		s.kept.RemoveOldest()
	}
	s.kept.Add(r.Key, r)
	s.bytes += n
}

// change begins a call that may replace the record, and returns what ends it. Until then nobody
// knows what is held, so what is kept goes at once.
func (s *Store) change(key string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Remove(key)
	c := s.of(key)
	c.begun++
	c.running++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.running--
	}
}

// withResult is the record that is kept, if it holds the result of the same claim as r. With read
// it gets that result in place of the parts.
func (s *Store) withResult(r store.Record, read []byte) (held store.Record, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, found = s.kept.Peek(r.Key)
	found = found && r.Seal != "" && held.Seal == r.Seal
	if found && read != nil {
		held.Result, held.Parts = bytes.Clone(read), ""
		s.put(held)
	}
	return held, found
}
