package storetest_test

import (
	"context"
	"iter"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// listFaults are stores whose listings have one fault.
func listFaults() []fault {
	asks := func(change func(*store.Query)) func(*parted) store.Store {
		return func(s *parted) store.Store {
			return &faulty{parted: s, list: func(ctx context.Context, q store.Query) iter.Seq2[record, error] {
				change(&q)
				return s.List(ctx, q)
			}}
		}
	}
	yields := func(change func(*record)) func(*parted) store.Store {
		return func(s *parted) store.Store {
			return &faulty{parted: s, list: func(ctx context.Context, q store.Query) iter.Seq2[record, error] {
				return func(yield func(record, error) bool) {
					for r, err := range s.List(ctx, q) {
						if r.Key != "" {
							change(&r)
						}
						if !yield(r, err) {
							return
						}
					}
				}
			}}
		}
	}
	return []fault{
		{
			"a listing of all statuses", "List/yields what the query names",
			asks(func(q *store.Query) { q.Statuses = nil }),
		},
		{"a listing of one status", "List/yields what the query names", asks(func(q *store.Query) {
			q.Statuses = q.Statuses[:min(len(q.Statuses), 1)]
		})},
		{"a listing of all operations", "List/never has a result", func(s *parted) store.Store {
			// What another listing has planted is found, too.
			return &faulty{parted: s, list: func(ctx context.Context, q store.Query) iter.Seq2[record, error] {
				_, _, _ = s.Claim(ctx, record{
					Key: "other#1", Status: store.StatusInProgress, Owner: "o",
					Expiry: time.Now().Add(time.Hour),
				}, time.Now())
				q.Operation = ""
				return s.List(ctx, q)
			}}
		}},
		{
			"a listing with records that nobody has to settle",
			"List/yields records with attention, with the index and without",
			asks(func(q *store.Query) { q.Attention = false }),
		},
		{
			"a listing with records that are given up",
			"List/yields records with attention, with the index and without",
			asks(func(q *store.Query) { q.NotGivenUp = false }),
		},
		{
			"a listing without records that are given up",
			"List/yields records with attention, with the index and without",
			asks(func(q *store.Query) { q.NotGivenUp = true }),
		},
		{
			"a listing of attention of any age", "List/goes by age",
			asks(func(q *store.Query) { q.AttentionBefore = time.Time{} }),
		},
		{
			"a listing of records of any age", "List/goes by age",
			asks(func(q *store.Query) { q.CreatedBefore = time.Time{} }),
		},
		{"a listing that leaves out its last millisecond", "List/goes by age", asks(func(q *store.Query) {
			if !q.AttentionBefore.IsZero() {
				q.AttentionBefore = q.AttentionBefore.Add(-time.Millisecond)
			}
		})},
		{"a listing without owners", "List/yields what the query names", yields(func(r *record) { r.Owner = "" })},
		{"a listing with a result", "List/never has a result", yields(func(r *record) { r.Result = []byte("1") })},
		{"a listing without reasons", "List/yields what the query names", yields(func(r *record) { r.Reason = "" })},
		{
			"an index of what was settled", "List/forgets a record that somebody has settled",
			func(s *parted) store.Store {
				seen := map[string]record{}
				return &faulty{parted: s, swap: func(ctx context.Context, before, next record) (record, bool, error) {
					held, swapped, err := s.Swap(ctx, before, next)
					if swapped && before.Attention != "" {
						seen[before.Key] = before
					}
					return held, swapped, err
				}, list: func(ctx context.Context, q store.Query) iter.Seq2[record, error] {
					return func(yield func(record, error) bool) {
						for r, err := range s.List(ctx, q) {
							if !yield(r, err) {
								return
							}
						}
						for _, r := range seen {
							if q.Names(r) && !yield(r, nil) {
								return
							}
						}
					}
				}}
			},
		},
		{
			"a listing that reads on after its reader has ended",
			"List/reads page by page, as far as the caller goes on",
			func(s *parted) store.Store {
				return &faulty{parted: s, list: func(ctx context.Context, q store.Query) iter.Seq2[record, error] {
					return func(yield func(record, error) bool) {
						var all []record
						for r := range s.List(ctx, q) {
							all = append(all, r)
						}
						for _, r := range all {
							if !yield(r, nil) {
								return
							}
						}
					}
				}}
			},
		},
		{
			"a listing by an index that does not answer it", "List/refuses an index that does not answer the query",
			asks(func(q *store.Query) {
				q.Index = false
			}),
		},
		{
			"a listing that goes on without its context", "List/respects a context that has ended",
			func(s *parted) store.Store {
				return &faulty{parted: s, list: func(ctx context.Context, q store.Query) iter.Seq2[record, error] {
					return s.List(context.WithoutCancel(ctx), q)
				}}
			},
		},
		{"a cost that is exactly wrong", "List/tells its cost", func(s *parted) store.Store {
			return &faulty{parted: s, cost: func(ctx context.Context, q store.Query) (store.Cost, error) {
				c, err := s.ListCost(ctx, q)
				c.Records++
				return c, err
			}}
		}},
		{"a listing of one operation alone", "List/of all operations has those of each", asks(func(q *store.Query) {
			if q.Operation == "" {
				q.Operation = "storetest"
			}
		})},
	}
}
