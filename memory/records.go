package memory

import (
	"container/heap"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

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
