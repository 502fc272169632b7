// Package memory is a [store.Store] in the memory of one process: for local runs, tests and
// examples. It answers as a shared store does, but what it holds ends with the process, so in
// production it protects nothing from a retry that reaches another sandbox.
package memory

import (
	"bytes"
	"container/heap"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Store is a [store.Store] in memory. The zero value is empty and ready to use; a Store must not be
// copied. It is safe for concurrent use: every call is atomic.
//
// A record of any status, also one that is in progress or UNKNOWN, is kept at least until its
// Expiry. After that, a claim that adds a record may drop it, going by the instant which that claim
// hands in: a Store has no clock and no goroutine. So a process that keeps claiming new keys holds
// little more than the records that have not expired, and one that claims nothing keeps what it
// has.
//
// Results are kept with their record, whatever their size: Parts stays empty. Bytes are copied on
// their way in and out, so nobody can change what is stored.
//
// The only errors are those of a context that has ended: a [*store.Error] of kind
// [store.FailureTimeout], with NotApplied set, that wraps the context's error.
type Store struct {
	mu      sync.Mutex
	records map[string]*entry
	expiry  queue
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return new(Store) }

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if err := ended(ctx, "claim"); err != nil {
		return store.Record{}, false, err
	}
	held, claimed := s.claim(copied(r), now)
	return copied(held), claimed, nil
}

// Swap implements [store.Store].
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if err := ended(ctx, "swap"); err != nil {
		return store.Record{}, false, err
	}
	held, swapped := s.swap(seen, copied(next))
	return copied(held), swapped, nil
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	if err := ended(ctx, "delete"); err != nil {
		return false, err
	}
	return s.remove(seen), nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Record, bool, error) {
	if err := ended(ctx, "get"); err != nil {
		return store.Record{}, false, err
	}
	r, found := s.read(key)
	return copied(r), found, nil
}

// Len returns the number of records held, those included that have expired and are not dropped yet.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

// copied returns r with bytes of its own. Stored bytes are never written again, so they are copied
// outside the mutex.
func copied(r store.Record) store.Record {
	r.Result, r.Derived, r.Steps = bytes.Clone(r.Result), slices.Clone(r.Derived), maps.Clone(r.Steps)
	r.StepNames = slices.Clone(r.StepNames)
	for name, step := range r.Steps {
		step.Result = bytes.Clone(step.Result)
		r.Steps[name] = step
	}
	return r
}

// ended reports a context that was over before the call began. Nothing waits later than that.
func ended(ctx context.Context, op string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	return &store.Error{Op: op, Kind: store.FailureTimeout, NotApplied: true, Err: err}
}

// The methods of this file hold the mutex from the comparison to the write: that is what makes a
// call atomic.

func (s *Store) claim(r store.Record, now time.Time) (held store.Record, claimed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.records[r.Key]
	switch {
	case !found:
		s.dropExpired(now)
		s.add(r)
	case e.record.Claimable(now):
		s.replace(e, r)
	default:
		return e.record, false
	}
	return store.Record{}, true
}

func (s *Store) swap(seen, next store.Record) (held store.Record, swapped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.records[seen.Key]
	if !found {
		return store.Record{}, false
	}
	steps, writes, merged := e.record.Merged(next)
	if !e.record.Matches(seen) || e.record.Shortens(next) || !merged {
		return e.record, false
	}
	next.Key = seen.Key // a record is never held under another key than its own
	next.Steps, next.StepWrites = steps, writes
	if next.Lease.IsZero() {
		next.Lease = e.record.Lease
	}
	s.replace(e, next)
	if !seen.HandsOver(next) {
		return store.Record{}, true
	}
	return next, true
}

func (s *Store) remove(seen store.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.records[seen.Key]
	if !found || !e.record.Matches(seen) {
		return false
	}
	s.drop(e)
	return true
}

func (s *Store) read(key string) (r store.Record, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.records[key]
	if !found {
		return store.Record{}, false
	}
	return e.record, true
}

func (s *Store) add(r store.Record) {
	if s.records == nil {
		s.records = make(map[string]*entry)
	}
	e := &entry{record: r}
	s.records[r.Key] = e
	heap.Push(&s.expiry, e)
}

func (s *Store) replace(e *entry, r store.Record) {
	e.record = r
	heap.Fix(&s.expiry, e.place)
}

func (s *Store) drop(e *entry) {
	heap.Remove(&s.expiry, e.place)
	delete(s.records, e.record.Key)
}

// dropsPerClaim bounds what a claim that adds a record drops: more than it adds, so that expired
// records become fewer, and no more than a few, so that no single claim pays for thousands.
const dropsPerClaim = 4

// dropExpired drops some of the records whose expiry has passed, the oldest first. A record is
// still kept in the very instant of its expiry.
func (s *Store) dropExpired(now time.Time) {
	for range dropsPerClaim {
		if len(s.expiry) == 0 || !now.After(s.expiry[0].record.Expiry) {
			return
		}
		s.drop(s.expiry[0])
	}
}

// entry is a record and its place in the queue.
type entry struct {
	record store.Record
	place  int
}

// queue is a heap of all entries in which the first is the next to expire.
type queue []*entry

var _ heap.Interface = (*queue)(nil)

func (q *queue) Len() int           { return len(*q) }
func (q *queue) Less(i, j int) bool { return (*q)[i].record.Expiry.Before((*q)[j].record.Expiry) }

func (q *queue) Swap(i, j int) {
	entries := *q
	entries[i], entries[j] = entries[j], entries[i]
	entries[i].place, entries[j].place = i, j
}

func (q *queue) Push(x any) {
	e := x.(*entry) //nolint:forcetypeassert // package heap passes on what add pushes
	e.place = len(*q)
	*q = append(*q, e)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil // or the array would keep the record from being collected
	*q = (*q)[:last]
	return e
}
