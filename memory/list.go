package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/go-idempotent/idempotent/store"
)

var _ store.Lister = (*Store)(nil)

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
			if !s.list(ctx, q, page, yield) {
				return
			}
		}
	}
}

// list yields the records of a page that are still there and still named, and reports whether the
// listing goes on. A record that is written while its page is read comes as it was, or as it is.
func (s *Store) list(ctx context.Context, q store.Query, keys []string, yield func(store.Record, error) bool) bool {
	if err := ended(ctx, "list"); err != nil {
		yield(store.Record{}, err)
		return false
	}
	if q.Page != nil {
		q.Page(store.Page{Records: len(keys)})
	}
	for _, key := range keys {
		r, found := s.read(key)
		r.Result, r.Parts, r.Seal, r.Derived, r.Steps = nil, "", "", nil, nil
		if found && q.Names(r) && !yield(r, nil) {
			return false
		}
	}
	return true
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
