// Package cache answers replays from the memory of the process. A [Store] stands before another
// [store.Store] and remembers completed records, as many as fit into a number of bytes.
//
//	store := cache.New(dynamo.New(client, table), 16<<20)
//	lambda.Start(idempotent.Wrap(charge, store))
//
// A completed record that refuses a claim is remembered. From then on a delivery of its key is
// answered without a call of the store, also while the store cannot be reached: a replay, whatever
// the size of its result, or a mismatch. Everything else goes to the store, which alone decides
// claims, takeovers and settlements.
//
// # What is guaranteed
//
// What is remembered is what the store holds. This module replaces a completed record only after
// its expiry, and a cache answers with it until two seconds before that, whatever the margin of a
// handler is: no other process can have replaced it by then, if clocks differ by no more. Through
// one Store no call sees a record that an earlier call has replaced or deleted.
//
// The exception is what happens behind the module's back. If a person or another program deletes or
// alters a completed record, if the table is restored from a backup, or if AWS Powertools
// overwrites the record, then the processes that remember it go on answering with it: until they
// end or need the room, at the latest until the expiry that the record had.
//
// # When to use it
//
// Lambda keeps a sandbox for minutes to hours and gives it one delivery at a time. A retry often
// reaches the sandbox that has the answer, but not always: of a function that runs in fifty
// sandboxes, any may get it. So a cache pays where clients retry in bursts and few sandboxes serve
// them, where results are large, or where one process serves many deliveries at once. It saves what
// a replay costs; it is no protection by itself.
//
// Do without it where operators delete records so that a request executes again, and where
// functions under AWS Powertools share the table.
package cache

import (
	"bytes"
	"context"
	"hash/maphash"
	"iter"
	"math"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/store"
)

// Store is a [store.Store] that remembers the completed records of another one. Make it with [New];
// the zero value is not usable. It is safe for concurrent use, and one serves any number of
// handlers. It has no clock and no goroutine.
//
// Its errors are those of the store behind it; a call whose context has ended goes there, too.
//
// Bytes are copied on their way in and out, so nobody can change what is remembered.
type Store struct {
	inner store.Store
	records
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
// [store.Committer] and [store.Lister] are passed on. Other methods that inner has beside those of
// [store.Store] are not.
//
// It panics with a [*store.ConfigError] if inner is nil, or if maxBytes is less than 1,024, in
// which not one record with an owner and a small result would fit.
func New(inner store.Store, maxBytes int) *Store {
	p := setup.Of("cache.New")
	p.Addf(setup.IsNil(inner), "the store is nil")
	p.Addf(maxBytes < leastBytes, "%d bytes are less than %d, in which one small record fits", maxBytes, leastBytes)
	p.Panic()
	s := &Store{inner: inner, records: records{maxBytes: maxBytes, seed: maphash.MakeSeed()}}
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
// it. If the store behind cannot read results, the answer is that of the module: a
// [*store.UnreadableError].
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
