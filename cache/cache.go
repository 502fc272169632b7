// Package cache answers replays from the memory of the process. A [Store] stands before another [store.Store] and
// remembers completed records, as many as fit into a number of bytes.
//
//	store := cache.New(dynamo.New(client, table), 16<<20)
//	lambda.Start(idempotent.Wrap(charge, store))
//
// A delivery whose key is remembered is answered without a call of the store, also while the store cannot be reached:
// a replay, whatever the size of its result, or a mismatch. Everything else goes to the store. Records that are in
// progress or UNKNOWN are never remembered: claims, takeovers and settlements are decided by the store alone.
//
// # What is guaranteed
//
// What is remembered is what the store holds. This module replaces a completed record only after its expiry, and a cache
// answers with it until two seconds before that, whatever the margin of a handler is: no other process can
// have replaced it by then, if clocks differ by no more. Through one Store no call sees a record that an earlier call has
// replaced or deleted.
//
// The exception is what happens behind the module's back. If a person or another program deletes or alters a completed
// record, if the table is restored from a backup, or if AWS Powertools overwrites the record, then the processes that remember
// it go on answering with it: until they end or need the room, at the latest until the expiry that the record had.
//
// # When to use it
//
// Lambda keeps a sandbox for minutes to hours and gives it one delivery at a time. A retry often reaches the sandbox that has
// the answer, but not always: of a function that runs in fifty sandboxes, any may get it. So a cache pays where
// clients retry in bursts and few sandboxes serve them, where results are large, or where one process serves many
// deliveries at once. It saves what a replay costs; it is no protection by itself.
//
// Do without it where operators delete records so that a request executes again, and where functions under AWS Powertools
// share the table.
package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/go-idempotent/idempotent/store"
)

// Store is a [store.Store] that remembers the completed records of another one. Make it with [New]; the zero value is
// not usable. It is safe for concurrent use, and one serves any number of handlers. It has no clock and no goroutine.
//
// Its errors are those of the store behind it; a call whose context has ended goes there, too.
//
// Bytes are copied on their way in and out, so nobody can change what is remembered.
type Store struct {
	inner    store.Store
	maxBytes int
	handlers store.Handlers // for a store behind that does not notice them

	mu     sync.Mutex
	bytes  int // of what is kept
	kept   *simplelru.LRU[string, store.Record]
	inside map[string]*traffic
	claims map[string]claim // that this process has made and not settled
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.Committer    = (*Store)(nil)
	_ store.ResultReader = (*Store)(nil)
	_ store.Lister       = (*Store)(nil)
	_ store.Registrar    = (*Store)(nil)
)

// New returns a store that answers from memory where it can and asks inner where it cannot. It keeps records of up to
// maxBytes in all and makes room by forgetting those that were not used for longest. A record counts with its texts, its
// result and what it costs to keep it, some 600 bytes; one that is larger than maxBytes is not kept. Go's garbage collector
// may need as much again.
//
// If inner keeps results in parts, it has to implement [store.ResultReader]. That, [store.Committer] and [store.Lister] are passed on.
// If it is a [store.Registrar], it is asked about handlers; if not, the cache notices those that are wrapped on it. Other methods that
// inner has beside those of [store.Store] are not passed on.
//
// It panics with a [*store.ConfigError] if inner is nil, or if maxBytes is less than 1,024, in which not one record with an
// owner and a small result would fit.
func New(inner store.Store, maxBytes int) *Store {
	var problems []string
	if v := reflect.ValueOf(inner); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		problems = append(problems, "cache.New: the store is nil")
	}
	if maxBytes < leastBytes {
		problems = append(problems, fmt.Sprintf("cache.New: %d bytes are less than %d, in which one small record fits", maxBytes, leastBytes))
	}
	if len(problems) > 0 {
		panic(&store.ConfigError{Problems: problems})
	}
	s := &Store{inner: inner, maxBytes: maxBytes, inside: make(map[string]*traffic), claims: make(map[string]claim)}
	s.kept = newKept(&s.bytes)
	return s
}

// Claim implements [store.Store]. A completed record that is kept refuses the claim without a call of the store
// behind, until a little before its expiry.
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	held, found, c := s.find(ctx, r.Key, now)
	if found {
		return copied(held), false, nil
	}
	defer s.end(c)
	held, claimed, err := s.inner.Claim(ctx, r, now)
	switch {
	case err != nil:
	case claimed:
		s.note(c, r)
		s.learn(c, r)
	default:
		s.learn(c, held)
	}
	return held, claimed, err
}

// Swap implements [store.Store]. The store behind decides; the record that is held afterwards is kept, if it
// is completed.
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	c := s.begin(seen.Key, change)
	defer s.end(c)
	held, swapped, err := s.inner.Swap(ctx, seen, next)
	switch {
	case err != nil:
	case !swapped:
		s.learn(c, held)
	default:
		s.replaced(c, seen, next)
	}
	return held, swapped, err
}

// Commit implements [store.Committer]. The store behind decides, and what is kept afterwards is what Swap would keep. If the store
// behind cannot commit, the error wraps [store.ErrNoCommit].
func (s *Store) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	behind, err := store.CommitterOf(s.inner)
	if err != nil {
		return store.Record{}, false, err
	}
	c := s.begin(seen.Key, change)
	defer s.end(c)
	held, committed, err := behind.Commit(ctx, seen, next, writes, token)
	switch {
	case errors.Is(err, store.ErrWritesRefused):
		s.noteAgain(c) // nothing has happened to the record
	case err != nil:
	case !committed:
		s.learn(c, held)
	default:
		s.replaced(c, seen, next)
	}
	return held, committed, err
}

// Apply implements [store.Committer], likewise. It touches no record.
func (s *Store) Apply(ctx context.Context, writes store.Writes, token string) error {
	behind, err := store.CommitterOf(s.inner)
	if err != nil {
		return err
	}
	return behind.Apply(ctx, writes, token)
}

// replaced keeps what a Swap or a Commit has written in the place of the record seen.
func (s *Store) replaced(c call, seen, next store.Record) {
	if next.Lease.IsZero() { // the held one stays
		next.Lease = c.lease(seen)
	}
	if next.Lease.IsZero() && seen.Owner != "" {
		return // nobody has said which one that is
	}
	// A takeover counts as one more attempt. A takeover that is undone takes that back: nobody has claimed the record.
	if next.Attempt > seen.Attempt || next.Owner == c.claim.owner {
		s.note(c, next) // a takeover or a renewal
	}
	s.learn(c, next)
}

// Delete implements [store.Store]. The store behind decides.
func (s *Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	defer s.end(s.begin(seen.Key, change))
	return s.inner.Delete(ctx, seen)
}

// Get implements [store.Store]. It always asks the store behind: without an instant it could not know whether a
// record that is kept has expired and was replaced elsewhere.
func (s *Store) Get(ctx context.Context, key string) (store.Record, bool, error) {
	c := s.begin(key, look)
	defer s.end(c)
	r, found, err := s.inner.Get(ctx, key)
	if err == nil && found {
		s.learn(c, r)
	}
	return r, found, err
}

// ReadResult implements [store.ResultReader]. What it reads for a record that is kept is kept with it. If
// the store behind cannot read results, the answer is that of the module: a [*store.UnreadableError].
func (s *Store) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	if held, found := s.peek(r); found && held.Parts == "" && ctx.Err() == nil {
		return bytes.Clone(held.Result), nil
	}
	reader, ok := s.inner.(store.ResultReader)
	if !ok {
		return nil, &store.UnreadableError{Reason: "its result is kept in parts, which this store cannot read"}
	}
	result, err := reader.ReadResult(ctx, r)
	if err == nil {
		s.learnResult(r, result)
	}
	return result, err
}

// Register implements [store.Registrar].
func (s *Store) Register(operation string, in, out reflect.Type) error {
	if notices, ok := s.inner.(store.Registrar); ok {
		return notices.Register(operation, in, out)
	}
	return s.handlers.Register(operation, in, out)
}

// List implements [store.Lister]. It always asks the store behind. If that cannot list, the error wraps [store.ErrNoListing].
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return store.ListOf(ctx, s.inner, q)
}

// ListCost implements [store.Lister], likewise.
func (s *Store) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	return store.ListCostOf(ctx, s.inner, q)
}

// copied returns r with bytes of its own. Kept bytes are never written again, so they are copied outside the mutex.
func copied(r store.Record) store.Record {
	r.Result = bytes.Clone(r.Result)
	return r
}
