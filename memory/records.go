package memory

import (
	"container/heap"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// The methods of this file hold the mutex from the comparison to the write: that is what makes a call atomic.

func (s *Store) claim(r store.Record, now time.Time) (held store.Record, claimed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.records[r.Key]
	switch {
	case !found:
		s.sweep(now)
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
	if !matches(e.record, seen) || e.record.Shortens(next) {
		return e.record, false
	}
	next.Key = seen.Key // a record is never held under another key than its own
	if next.Lease.IsZero() {
		next.Lease = e.record.Lease
	}
	s.replace(e, next)
	return store.Record{}, true
}

func (s *Store) remove(seen store.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.records[seen.Key]
	if !found || !matches(e.record, seen) {
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

// matches reports whether the held record is the one that was seen.
func matches(held, seen store.Record) bool {
	if held.Status != seen.Status || held.Owner != seen.Owner {
		return false
	}
	if held.Owner == "" {
		return held.Lease.Equal(seen.Lease) && held.Expiry.Equal(seen.Expiry)
	}
	return seen.Lease.IsZero() || held.Lease.Equal(seen.Lease)
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
