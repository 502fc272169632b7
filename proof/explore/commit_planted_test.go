package explore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
)

// plantedTable is a table with one guard taken out.
type plantedTable struct {
	*rows.Table

	commit func(t *rows.Table, c sentCommit) (store.Record, bool, error)
	swap   func(t *rows.Table, seen, next store.Record) (store.Record, bool, error)
	delete func(t *rows.Table, seen store.Record) (bool, error)
}

// sentCommit is what a commit is called with.
type sentCommit struct {
	seen, next store.Record
	writes     store.Writes
	token      string
}

// send makes the call.
func (c sentCommit) send(t *rows.Table) (store.Record, bool, error) {
	return t.Commit(context.Background(), c.seen, c.next, c.writes, c.token)
}

func (p plantedTable) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	if p.commit == nil {
		return p.Table.Commit(ctx, seen, next, writes, token)
	}
	return p.commit(p.Table, sentCommit{seen, next, writes, token})
}

func (p plantedTable) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if p.swap == nil {
		return p.Table.Swap(ctx, seen, next)
	}
	return p.swap(p.Table, seen, next)
}

func (p plantedTable) Delete(ctx context.Context, seen store.Record) (bool, error) {
	if p.delete == nil {
		return p.Table.Delete(ctx, seen)
	}
	return p.delete(p.Table, seen)
}

// fences reports whether a Swap does nothing but move the lease of its owner a little.
func fences(seen, next store.Record) bool {
	return seen.Owner == next.Owner && next.Status == store.StatusInProgress && len(next.Steps) == 0 &&
		next.Lease.Sub(next.Lease.Truncate(time.Second)) > 0
}

// TestEveryGuardOfACommitInAStoreIsMissed takes out one guard after the other and expects the
// search to find a schedule that breaks an invariant.
func TestEveryGuardOfACommitInAStoreIsMissed(t *testing.T) {
	ctx := context.Background()
	inProgress := func(t *rows.Table, c sentCommit) (store.Record, bool) {
		h := held(&t.Store, c.seen.Key)
		return h, h.Status == store.StatusInProgress
	}
	for name, c := range map[string]struct {
		scenario string
		table    plantedTable
		breaks   string
	}{
		"a commit does not compare the owner": {"commit: three deliveries, stale owners", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				if h, is := inProgress(t, c); is {
					c.seen = h
				}
				return c.send(t)
			},
		}, "I5 a stale owner changes nothing"},
		"a commit does not compare the status": {"commit: refuse", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				if h := held(&t.Store, c.seen.Key); h.Owner == c.seen.Owner && h.Status == store.StatusUnknown {
					c.seen = h
				}
				return c.send(t)
			},
		}, "who does not own the record"},
		"a commit does not compare the lease": {"commit: a gate for two", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				c.seen.Lease = time.Time{}
				return c.send(t)
			},
		}, "I9 what a commit says"},
		"a fence moves nothing": {"commit: a gate for two", plantedTable{
			swap: func(t *rows.Table, seen, next store.Record) (store.Record, bool, error) {
				if fences(seen, next) {
					next.Lease = held(&t.Store, seen.Key).Lease
				}
				return t.Swap(ctx, seen, next)
			},
		}, "I9 what a commit says"},
		"the writes come before the record": {"commit: three deliveries, stale owners", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				if err := t.Apply(ctx, c.writes, ""); err != nil {
					return store.Record{}, false, err
				}
				return t.Swap(ctx, c.seen, c.next)
			},
		}, "I5 a stale owner changes nothing"},
		"the record comes without the writes": {"commit: two deliveries, each sent twice", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool,
				error,
			) {
				return t.Swap(ctx, c.seen, c.next)
			},
		}, "without its rows"},
		"the record comes although the writes are refused": {"commit: a gate for two", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				if h, committed, err := c.send(t); !errors.Is(err, store.ErrWritesRefused) {
					return h, committed, err
				}
				return t.Swap(ctx, c.seen, c.next)
			},
		}, "without its rows"},
		"the writes are forgotten in the seal": {"commit: two deliveries, each sent twice", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				c.next.Seal = store.Seal(c.next.Owner, c.next.Result)
				return c.send(t)
			},
		}, "without its answer"},
		"another answer is stored": {"commit: two deliveries, each sent twice", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				c.next.Result = []byte(`{"by":"nobody","amount":5}`)
				return c.send(t)
			},
		}, `with the answer "5 by nobody"`},
		"a token is known that was not applied": {"commit: one fault", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				if h, committed, err := c.send(t); err != nil || committed || h.Owner == c.seen.Owner {
					return h, committed, err
				}
				return store.Record{}, true, nil
			},
		}, "I9 what a commit says"},
		"a refusal is told of a commit that was applied": {"commit: a gate for two", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				h, committed, err := c.send(t)
				if committed {
					err = &store.Error{
						Op: "commit", Kind: store.FailureRejected, NotApplied: true,
						Err: &rows.RefusedError{Indexes: []int{1}},
					}
				}
				return h, committed && err == nil, err
			},
		}, "I9 what a commit says"},
		"the fence of a commit that failed moves nothing": {"commit: a fault, and one of the settlement", plantedTable{
			swap: func(t *rows.Table, seen, next store.Record) (store.Record, bool, error) {
				if fences(seen, next) {
					next.Lease = held(&t.Store, seen.Key).Lease
				}
				return t.Swap(ctx, seen, next)
			},
		}, "I9 what a commit says"},
		"a release deletes what was committed": {"commit: a gate that opens", plantedTable{
			delete: func(t *rows.Table, seen store.Record) (bool, error) {
				if h := held(&t.Store, seen.Key); h.Owner == seen.Owner {
					seen = h
				}
				return t.Delete(ctx, seen)
			},
		}, "I2"},
		"steps stay": {"commit: after steps", plantedTable{
			commit: func(t *rows.Table, c sentCommit) (store.Record, bool, error) {
				if h, is := inProgress(t, c); is && len(h.Steps) == 0 {
					return c.send(t)
				}
				return store.Record{}, false, &store.Error{Op: "commit", Kind: store.FailureThrottled, NotApplied: true}
			},
		}, "I9 a commit is not given up"},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, c.scenario, c.breaks,
				func(s explore.Scenario) store.Store { c.table.Table = rows.New(s.Rows); return c.table })
		})
	}
}
