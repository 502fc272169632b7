package explore_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// planted is a store with one guard taken out.
type planted struct {
	*memory.Store
	claim  func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error)
	swap   func(s *memory.Store, seen, next store.Record) (store.Record, bool, error)
	delete func(s *memory.Store, seen store.Record) (bool, error)
}

func (p planted) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if p.claim == nil {
		return p.Store.Claim(ctx, r, now)
	}
	return p.claim(p.Store, r, now)
}

func (p planted) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if p.swap == nil {
		return p.Store.Swap(ctx, seen, next)
	}
	return p.swap(p.Store, seen, next)
}

func (p planted) Delete(ctx context.Context, seen store.Record) (bool, error) {
	if p.delete == nil {
		return p.Store.Delete(ctx, seen)
	}
	return p.delete(p.Store, seen)
}

// held is the record under a key, as seen by a write that does not look.
func held(s *memory.Store, key string) store.Record {
	r, _, err := s.Get(context.Background(), key)
	if err != nil {
		panic(err)
	}
	return r
}

// TestEveryGuardOfTheStoreIsMissed takes out one guard after the other and expects the search to
// find a schedule that breaks an invariant.
func TestEveryGuardOfTheStoreIsMissed(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		scenario string
		store    planted
		breaks   string
	}{
		"claims over a record in progress": {"three deliveries", planted{
			claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
				if h := held(s, r.Key); h.Status == store.StatusInProgress {
					_, swapped, err := s.Swap(ctx, h, r)
					return store.Record{}, swapped, err
				}
				return s.Claim(ctx, r, now)
			},
		}, "I5"},
		"claims over a completed record that has not expired": {"three deliveries", planted{
			claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
				return s.Claim(ctx, r, now.Add(48*time.Hour))
			},
		}, "I2"},
		"swaps without looking": {"three deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				return s.Swap(ctx, held(s, seen.Key), next)
			},
		}, "I2"},
		"deletes without looking": {"three deliveries", planted{
			delete: func(s *memory.Store, seen store.Record) (bool, error) { return s.Delete(ctx, held(s, seen.Key)) },
		}, "I2"},
		"does not show what refuses": {"three deliveries", planted{
			claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
				_, claimed, err := s.Claim(ctx, r, now)
				return store.Record{}, claimed, err
			},
		}, "I4"},
		"loses a result": {"three deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				next.Result = nil
				return s.Swap(ctx, seen, next)
			},
		}, "I2"},
		"releases what is to be completed": {"three deliveries", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				if next.Status == store.StatusCompleted {
					deleted, err := s.Delete(ctx, held(s, seen.Key))
					return store.Record{}, deleted, err
				}
				return s.Swap(ctx, seen, next)
			},
		}, "I7 a record whose handler has a result is not released"},
		"loses the owner": {"three deliveries", planted{
			claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
				r.Owner = "somebody"
				return s.Claim(ctx, r, now)
			},
		}, "I6"},
		"lets a delayed renewal shorten a lease": {"timed: a fault of a renewal", planted{
			swap: func(s *memory.Store, seen, next store.Record) (store.Record, bool, error) {
				h := held(s, seen.Key)
				if h.Status == next.Status && h.Owner == next.Owner && next.Lease.Before(h.Lease) {
					nobody := h
					nobody.Owner = "nobody"
					if _, swapped, err := s.Swap(ctx, seen, nobody); err != nil || !swapped {
						return h, false, err
					}
					seen = nobody
				}
				return s.Swap(ctx, seen, next)
			},
		}, "I1 a lease only grows"},
		"does not give an expired UNKNOWN away": {"unknown and expired", planted{
			claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
				if h := held(s, r.Key); h.Status == store.StatusUnknown {
					return h, false, nil
				}
				return s.Claim(ctx, r, now)
			},
		}, "I4"},
		"loses the fingerprint": {"two requests under one key", planted{
			claim: func(s *memory.Store, r store.Record, now time.Time) (store.Record, bool, error) {
				r.Fingerprint = "1:x"
				return s.Claim(ctx, r, now)
			},
		}, "I3"},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, c.scenario, c.breaks,
				func(explore.Scenario) store.Store { c.store.Store = memory.New(); return c.store })
		})
	}
}
