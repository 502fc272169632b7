// Package memory is a [store.Store] in the memory of one process: for local runs, tests and
// examples. It answers as a shared store does, but what it holds ends with the process, so in
// production it protects nothing from a retry that reaches another sandbox.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"iter"
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
// Expiry. After that instant a claim that adds a record may drop it: a Store has no clock and no
// goroutine. So a process that keeps claiming new keys holds at most about twice the records that
// have not expired, and one that claims nothing keeps what it has.
//
// Results are kept with their record, whatever their size: Parts stays empty. Bytes are copied on
// their way in and out.
//
// The only errors are those of a context that has ended: a [*store.Error] of kind
// [store.FailureTimeout], with NotApplied set, that wraps the context's error.
type Store struct {
	mu      sync.Mutex
	records map[string]store.Record
	sweepAt int // so many records that the next one to be added has those dropped that have expired
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Lister = (*Store)(nil)
)

// New returns an empty store.
func New() *Store { return new(Store) }

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if err := ended(ctx, "claim"); err != nil {
		return store.Record{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held, found := s.records[r.Key]
	switch {
	case found && !held.Claimable(now):
		return copied(held), false, nil
	case s.records == nil:
		s.records = make(map[string]store.Record)
	case !found && len(s.records) >= s.sweepAt:
		// A record is still kept in the very instant of its expiry.
		maps.DeleteFunc(s.records, func(_ string, r store.Record) bool { return now.After(r.Expiry) })
		s.sweepAt = 2*len(s.records) + 1
	}
	s.records[r.Key] = copied(r)
	return store.Record{}, true, nil
}

// Swap implements [store.Store].
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if err := ended(ctx, "swap"); err != nil {
		return store.Record{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held, found := s.records[seen.Key]
	steps, writes, merged := held.Merged(next)
	if !found || !held.Matches(seen) || held.Shortens(next) || !merged {
		return copied(held), false, nil
	}
	next.Key = seen.Key // a record is never held under another key than its own
	next.Steps, next.StepWrites = steps, writes
	if next.Lease.IsZero() {
		next.Lease = held.Lease
	}
	s.records[next.Key] = copied(next)
	if next.Status == store.StatusCompleted { // nobody looks at what a completion returns
		return store.Record{}, true, nil
	}
	return copied(next), true, nil
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	if err := ended(ctx, "delete"); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held, found := s.records[seen.Key]
	if !found || !held.Matches(seen) {
		return false, nil
	}
	delete(s.records, seen.Key)
	return true, nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Record, bool, error) {
	if err := ended(ctx, "get"); err != nil {
		return store.Record{}, false, err
	}
	r, found := s.read(key)
	return copied(r), found, nil
}

func (s *Store) read(key string) (r store.Record, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found = s.records[key]
	return r, found
}

// Len returns the number of records held, those included that have expired and are not dropped yet.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

func copied(r store.Record) store.Record {
	r.Result, r.Derived, r.Steps = bytes.Clone(r.Result), slices.Clone(r.Derived), maps.Clone(r.Steps)
	r.StepNames = slices.Clone(r.StepNames)
	for name, step := range r.Steps {
		step.Result = bytes.Clone(step.Result)
		r.Steps[name] = step
	}
	return r
}

// ended reports a context that was over before the call began: nothing waits later.
func ended(ctx context.Context, op string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	return &store.Error{Op: op, Kind: store.FailureTimeout, NotApplied: true, Err: err}
}

// List implements [store.Lister]. Reading costs nothing here: the rate is ignored, and a page is
// what it is told to be, or all.
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := checkQuery(q); err != nil {
			yield(store.Record{}, err)
			return
		}
		keys := s.named(q)
		for page := range slices.Chunk(keys, cmp.Or(max(q.PageSize, 0), max(len(keys), 1))) {
			if err := ended(ctx, "list"); err != nil {
				yield(store.Record{}, err)
				return
			}
			if q.Page != nil {
				q.Page(store.Page{Records: len(page)})
			}
			for _, key := range page { // what was written meanwhile comes as it was, or as it is
				r, found := s.read(key)
				r.Result, r.Parts, r.Seal, r.Derived, r.Steps = nil, "", "", nil, nil
				if found && q.Names(r) && !yield(r, nil) {
					return
				}
			}
		}
	}
}

// ListCost implements [store.Lister]. It is exact as long as nothing is written.
func (s *Store) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	if err := ended(ctx, "list cost"); err != nil {
		return store.Cost{}, err
	}
	if err := checkQuery(q); err != nil {
		return store.Cost{}, err
	}
	read := q
	if !q.Index { // every record is looked at
		read = store.Query{}
	}
	return store.Cost{Indexed: q.Index, Records: int64(len(s.named(read))), Exact: true}, nil
}

// named returns the keys of what the query names, in the order of a listing.
func (s *Store) named(q store.Query) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for key, r := range s.records {
		if q.Names(r) {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

func checkQuery(q store.Query) error {
	if q.Index && !q.Indexable() {
		return &store.Error{Op: "list", Kind: store.FailureRejected, NotApplied: true, Err: store.ErrNoIndex}
	}
	return nil
}
