package storetest_test

import (
	"context"
	"iter"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

type listing = iter.Seq2[record, error]

// lists answers listings in another way.
func lists(list func(ctx context.Context, f *faulty, q store.Query) listing) inject {
	return func(f *faulty) {
		f.list = func(ctx context.Context, q store.Query) listing { return list(ctx, f, q) }
	}
}

// asks lists what another query names.
func asks(change func(q *store.Query)) inject {
	return lists(func(ctx context.Context, f *faulty, q store.Query) listing {
		change(&q)
		return f.List(ctx, q)
	})
}

// yields changes the records of a listing.
func yields(change func(f *faulty, r *record)) inject {
	return lists(func(ctx context.Context, f *faulty, q store.Query) listing {
		return func(yield func(record, error) bool) {
			for r, err := range f.List(ctx, q) {
				if r.Key != "" {
					change(f, &r)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	})
}

// listFaults are stores whose listings have one fault.
func listFaults() faults {
	return faults{
		"List/yields what the query names": {
			{"a listing of all statuses", asks(func(q *store.Query) { q.Statuses = nil })},
			{"a listing of one status", asks(func(q *store.Query) {
				q.Statuses = q.Statuses[:min(len(q.Statuses), 1)]
			})},
			{"a listing without owners", yields(func(_ *faulty, r *record) { r.Owner = "" })},
			{"a listing without reasons", yields(func(_ *faulty, r *record) { r.Reason = "" })},
		},
		"List/never has a result": {
			{"a listing with a result", yields(func(_ *faulty, r *record) { r.Result = []byte("1") })},
			{"a listing with steps", yields(func(f *faulty, r *record) {
				whole, _, _ := f.Get(context.Background(), r.Key)
				r.Steps = whole.Steps
			})},
			{"a listing of all operations", lists(func(ctx context.Context, f *faulty, q store.Query) listing {
				// What another listing has planted is found, too.
				now := time.Now()
				other := record{Key: "other#1", Status: store.StatusInProgress, Owner: "o", Expiry: now.Add(time.Hour)}
				_, _, _ = f.Claim(ctx, other, now)
				q.Operation = ""
				return f.List(ctx, q)
			})},
		},
		"List/yields records with attention, with the index and without": {
			{"a listing with records that nobody has to settle", asks(func(q *store.Query) { q.Attention = false })},
			{"a listing with records that are given up", asks(func(q *store.Query) { q.NotGivenUp = false })},
			{"a listing without records that are given up", asks(func(q *store.Query) { q.NotGivenUp = true })},
		},
		"List/goes by age": {
			{"a listing of attention of any age", asks(func(q *store.Query) { q.AttentionBefore = time.Time{} })},
			{"a listing of records of any age", asks(func(q *store.Query) { q.CreatedBefore = time.Time{} })},
			{"a listing that leaves out its last millisecond", asks(func(q *store.Query) {
				if !q.AttentionBefore.IsZero() {
					q.AttentionBefore = q.AttentionBefore.Add(-time.Millisecond)
				}
			})},
		},
		"List/forgets a record that somebody has settled": {
			{"an index of what was settled", all(
				swaps.after(func(c call, a *answer) {
					if a.Done && c.Seen.Attention != "" {
						c.notes[c.Key] = c.Seen
					}
				}),
				lists(func(ctx context.Context, f *faulty, q store.Query) listing {
					return func(yield func(record, error) bool) {
						for r, err := range f.List(ctx, q) {
							if !yield(r, err) {
								return
							}
						}
						for _, r := range f.notes {
							if q.Names(r) && !yield(r, nil) {
								return
							}
						}
					}
				}),
			)},
		},
		"List/reads page by page, as far as the caller goes on": {
			{"a listing that reads on after its reader has ended", lists(
				func(ctx context.Context, f *faulty, q store.Query) listing {
					return func(yield func(record, error) bool) {
						goesOn := true
						for r, err := range f.List(ctx, q) {
							goesOn = goesOn && yield(r, err)
						}
					}
				},
			)},
		},
		"List/refuses an index that does not answer the query": {
			{"a listing by an index that does not answer it", asks(func(q *store.Query) { q.Index = false })},
		},
		"List/respects a context that has ended": {
			{"a listing that goes on without its context", lists(
				func(ctx context.Context, f *faulty, q store.Query) listing {
					return f.List(context.WithoutCancel(ctx), q)
				},
			)},
		},
		"List/tells its cost": {
			{"a cost that is exactly wrong", func(f *faulty) {
				f.cost = func(ctx context.Context, q store.Query) (store.Cost, error) {
					c, err := f.ListCost(ctx, q)
					c.Records++
					return c, err
				}
			}},
		},
		"List/of all operations has those of each": {
			{"a listing of one operation alone", asks(func(q *store.Query) {
				if q.Operation == "" {
					q.Operation = "storetest"
				}
			})},
		},
	}
}
