package storetest_test

import (
	"context"
	"runtime"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// tornFaults are stores that answer rightly as long as calls come one after the other.
func tornFaults() []fault {
	return []fault{
		{"Claim reads and then writes", "Race/of claims for one key has one winner", tornClaim},
		{
			"Claim over an expired record reads and then writes",
			"Race/of claims over one expired record has one winner",
			tornClaim,
		},
		{"Swap reads and then writes", "Race/of takeovers of one crashed record has one winner", tornSwap},
		{
			"Swap of a record without an owner reads and then writes",
			"Race/of takeovers of one record without an owner has one winner", tornSwap,
		},
		{"Swap of a completion reads and then writes", "Race/of a completion and takeovers has one winner", tornSwap},
		{"Delete reads and then writes", "Race/of releases has one winner", tornDelete},
		{
			"Delete of what was taken over reads and then writes", "Race/of releases and takeovers has one winner",
			tornDelete,
		},
		{"a history of torn claims", "History/of concurrent calls is linearizable", tornClaim},
		{"a history of torn swaps", "History/of concurrent calls is linearizable", tornSwap},
		{"a history of torn deletes", "History/of concurrent calls is linearizable", tornDelete},
		{
			"Swap lets go of the record for a moment", "History/of concurrent calls is linearizable",
			func(s *parted) store.Store {
				f := &faulty{parted: s, torn: true}
				f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
					held, found, err := s.Get(ctx, seen.Key)
					if err != nil || !found {
						return held, false, err
					}
					whole, ok := swapped(held, seen, next)
					if !ok {
						return held, false, nil
					}
					deleted, err := s.Delete(ctx, seen)
					if err != nil || !deleted {
						return held, false, err
					}
					pause()
					now, claimed, err := s.Claim(ctx, whole, time.Time{})
					if claimed && seen.HandsOver(next) {
						now = whole
					}
					return now, claimed, err
				}
				return f
			},
		},
		{"acknowledges a Swap before it is applied", "History/of concurrent calls is linearizable", writeBehind},
		{
			"leaves a goroutine behind", "Goroutines/end with the calls that started them",
			func(s *parted) store.Store {
				return &faulty{parted: s, get: func(ctx context.Context, key string) (record, bool, error) {
					go func() { <-ctx.Done() }()
					return s.Get(ctx, key)
				}}
			},
		},
	}
}

// pause lets other goroutines in between the two halves of a torn call.
func pause() {
	runtime.Gosched()
	time.Sleep(100 * time.Microsecond)
}

func tornClaim(s *parted) store.Store {
	return &faulty{
		parted: s, torn: true,
		claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
			held, found, err := s.Get(ctx, r.Key)
			if err != nil || (found && !held.Claimable(now)) {
				return held, false, err
			}
			pause()
			return s.overwrite(ctx, r)
		},
	}
}

func tornSwap(s *parted) store.Store {
	return &faulty{parted: s, torn: true, swap: func(ctx context.Context, seen, next record) (record, bool, error) {
		held, found, err := s.Get(ctx, seen.Key)
		whole, ok := swapped(held, seen, next)
		if err != nil || !found || !ok {
			return held, false, err
		}
		pause()
		now, written, err := s.overwrite(ctx, whole)
		if written && seen.HandsOver(next) {
			now = whole
		}
		return now, written, err
	}}
}

func tornDelete(s *parted) store.Store {
	f := &faulty{parted: s, torn: true}
	f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
		pause() // so that it comes after the first half of a delete
		return s.Swap(ctx, seen, next)
	}
	f.del = func(ctx context.Context, seen record) (bool, error) {
		held, found, err := s.Get(ctx, seen.Key)
		if err != nil || !found || !held.Matches(seen) {
			return false, err
		}
		pause()
		now, found, err := s.Get(ctx, seen.Key)
		if err == nil && found {
			_, err = s.Delete(ctx, now)
		}
		return true, err
	}
	return f
}

// writeBehind applies a swap that it accepted a little later than it says.
func writeBehind(s *parted) store.Store {
	return &faulty{parted: s, torn: true, swap: func(ctx context.Context, seen, next record) (record, bool, error) {
		held, found, err := s.Get(ctx, seen.Key)
		whole, ok := swapped(held, seen, next)
		if err != nil || !found || !ok {
			return held, false, err
		}
		ctx = context.WithoutCancel(ctx)
		time.AfterFunc(10*time.Microsecond, func() { _, _, _ = s.Swap(ctx, seen, next) })
		if !seen.HandsOver(next) {
			whole = record{}
		}
		return whole, true, nil
	}}
}

// overwrite writes r over whatever is held.
func (p *parted) overwrite(ctx context.Context, r record) (record, bool, error) {
	for {
		held, claimed, err := p.Claim(ctx, r, time.Time{})
		if claimed || err != nil {
			return record{}, claimed, err
		}
		if _, err := p.Delete(ctx, held); err != nil {
			return held, false, err
		}
	}
}

// swapped returns the record that a Swap makes of the held one, or that it refuses.
func swapped(held, seen, next record) (record, bool) {
	steps, writes, ok := held.Merged(next)
	if !ok || !held.Matches(seen) || held.Shortens(next) {
		return record{}, false
	}
	next.Steps, next.StepWrites = steps, writes
	if next.Lease.IsZero() {
		next.Lease = held.Lease
	}
	return next, true
}
