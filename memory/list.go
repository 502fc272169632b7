package memory

import (
	"context"
	"iter"

	"github.com/go-idempotent/idempotent/store"
)

var _ store.Lister = (*Store)(nil)

// List implements [store.Lister]. Reading costs nothing here: the rate is ignored, and a page is what it is told to be, or all.
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := checkQuery(q); err != nil {
			yield(store.Record{}, err)
			return
		}
		all := s.named(q)
		size := q.PageSize
		if size <= 0 {
			size = max(len(all), 1)
		}
		for n, r := range all {
			if err := ended(ctx, "list"); err != nil {
				yield(store.Record{}, err)
				return
			}
			if n%size == 0 && q.Page != nil {
				q.Page(store.Page{Records: min(size, len(all)-n)})
			}
			if !yield(r, nil) {
				return
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
	return store.Cost{Indexed: q.Index, Records: int64(len(s.named(q))), Exact: true}, nil
}

// named returns what the query names, without results.
func (s *Store) named(q store.Query) []store.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []store.Record
	for _, e := range s.records {
		if r := e.record; q.Names(r) {
			r.Result, r.Parts, r.Seal, r.Derived, r.Steps = nil, "", "", nil, nil
			all = append(all, r)
		}
	}
	return all
}

func checkQuery(q store.Query) error {
	if q.Index && !q.Indexable() {
		return &store.Error{Op: "list", Kind: store.FailureRejected, NotApplied: true, Err: store.ErrNoIndex}
	}
	return nil
}
