package storetest_test

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// swap is a call of Swap.
type swap struct {
	ctx        context.Context
	seen, next record
}

// on makes the call as it should be made.
func (c swap) on(s *parted) (record, bool, error) { return s.Swap(c.ctx, c.seen, c.next) }

// swapping breaks the swaps of a store.
func swapping(swaps func(s *parted, c swap) (record, bool, error)) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{parted: s, swap: func(ctx context.Context, seen, next record) (record, bool, error) {
			return swaps(s, swap{ctx, seen, next})
		}}
	}
}

func swapFaults() []fault {
	return []fault{
		{"Swap clears the lease if next has none", "Swap/keeps the held lease if next has none", swapClearsLease},
		{
			"Swap keeps the lease that was seen if next has none", "Swap/keeps the held lease if next has none",
			swapsFor(func(_, seen, next record) record {
				if next.Lease.IsZero() && !seen.Lease.IsZero() {
					next.Lease = seen.Lease
				}
				if next.Lease.IsZero() {
					next.Lease = time.Unix(0, 0)
				}
				return next
			}),
		},
		{
			"Swap moves the lease of an owner back", "Swap/never moves the lease of an owner back",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, swapped, err := c.on(s)
				if err != nil || swapped || !held.Shortens(c.next) || held.Status != c.seen.Status ||
					held.Owner != c.seen.Owner {
					return held, swapped, err
				}
				between := held // as another owner, nothing keeps it from a shorter lease
				between.Owner = "between"
				if _, _, err := s.Swap(c.ctx, held, between); err != nil {
					return record{}, false, err
				}
				return s.Swap(c.ctx, between, c.next)
			}),
		},
		{
			"Swap leaves the lease alone", "Swap/renews a lease, again and again",
			swapsFor(func(held, _, next record) record {
				next.Lease = held.Lease
				return next
			}),
		},
		{
			"Swap leaves the lease alone where there was none", "Swap/gives a lease to a record that had none",
			swapsFor(func(held, _, next record) record {
				if held.Lease.IsZero() {
					next.Lease = held.Lease
				}
				return next
			}),
		},
		{
			"Swap leaves the owner alone", "Swap/takes over a record whose lease ended",
			swapsFor(func(held, _, next record) record {
				next.Owner = held.Owner
				return next
			}),
		},
		{
			"Swap does not give an owner to a record without one", "Swap/takes over a record that AWS Powertools wrote",
			swapsFor(func(held, _, next record) record {
				if held.Owner == "" {
					next.Owner = ""
				}
				return next
			}),
		},
		{
			"Swap drops the fields that stay equal", "Swap/keeps the fields that stay equal",
			swapsFor(func(_, seen, next record) record {
				if next.Fingerprint == seen.Fingerprint {
					next.Fingerprint = ""
				}
				return next
			}),
		},
		{
			"Swap completes only what is in progress",
			"Swap/marks a record UNKNOWN, and lets its owner complete it later",
			swapping(func(s *parted, c swap) (record, bool, error) {
				if c.next.Status == store.StatusCompleted && c.seen.Status != store.StatusInProgress {
					held, _, err := s.Get(c.ctx, c.seen.Key)
					return held, false, err
				}
				return c.on(s)
			}),
		},
		{
			"Swap writes a record that is not held",
			"Swap/of a key without a record is refused with a zero record, and writes nothing",
			swapping(func(s *parted, c swap) (record, bool, error) {
				if _, found, _ := s.Get(c.ctx, c.seen.Key); !found {
					return s.Claim(c.ctx, c.next, time.Time{})
				}
				return c.on(s)
			}),
		},
		{
			"Swap of an absent record reports what was seen",
			"Swap/of a key without a record is refused with a zero record, and writes nothing",
			refusesSwapWith(func(seen, _, held record) record {
				if held.Key == "" {
					return seen
				}
				return held
			}),
		},
		{
			"Swap accepts a repeated completion", "Swap/repeated is refused with its own record",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, swapped, err := c.on(s)
				return held, swapped || (held.Seal != "" && held.Seal == c.next.Seal), err
			}),
		},
		{
			"Swap refuses without saying why", "Swap/repeated is refused with its own record",
			refusesSwapWith(func(_, _, _ record) record { return record{} }),
		},
		{
			"Swap refuses with what was seen",
			"Swap/by an owner that was taken over is refused with the record of the new owner",
			refusesSwapWith(func(seen, _, _ record) record { return seen }),
		},
		{
			"Swap refuses with next",
			"Swap/by an owner that was taken over is refused with the record of the new owner",
			refusesSwapWith(func(_, next, _ record) record { return next }),
		},
		{
			"Swap changes a record although it refuses",
			"Swap/by an owner that was taken over is refused with the record of the new owner",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, swapped, err := c.on(s)
				if !swapped && held.Key != "" {
					counted := held
					counted.Attempt++
					if _, _, err := s.Swap(c.ctx, held, counted); err != nil {
						return held, false, err
					}
				}
				return held, swapped, err
			}),
		},
		{
			"Swap loses every seventh write", "Sequence/of calls is answered as a register answers it",
			func(s *parted) store.Store {
				written := 0
				return &faulty{parted: s, swap: func(ctx context.Context, seen, next record) (record, bool, error) {
					if written++; written%7 == 0 {
						return record{}, true, nil
					}
					return s.Swap(ctx, seen, next)
				}}
			},
		},
	}
}

func leftoverFaults() []fault {
	fields := leftovers()
	all := make([]fault, len(fields))
	for i, f := range fields {
		all[i] = fault{
			"Swap does not clear " + f.field, "Swap/clears the fields that become zero",
			swapsFor(func(held, _, next record) record { return f.keep(held, next) }),
		}
	}
	return all
}

// leftover keeps what a field had if it becomes zero.
type leftover struct {
	field string
	keep  func(held, next record) record
}

func leftovers() []leftover {
	return []leftover{
		{"the fingerprint", func(held, next record) record {
			if next.Fingerprint == "" {
				next.Fingerprint = held.Fingerprint
			}
			return next
		}},
		{"the result", func(held, next record) record {
			if next.Result == nil {
				next.Result = held.Result
			}
			return next
		}},
		{"the commit", func(held, next record) record {
			if next.Seal == "" {
				next.Seal = held.Seal
			}
			return next
		}},
		{"the attempt", func(held, next record) record {
			if next.Attempt == 0 {
				next.Attempt = held.Attempt
			}
			return next
		}},
		{"the creation", func(held, next record) record {
			if next.CreatedAt.IsZero() {
				next.CreatedAt = held.CreatedAt
			}
			return next
		}},
		{"the reason", func(held, next record) record {
			if next.Reason == "" {
				next.Reason = held.Reason
			}
			return next
		}},
	}
}

// swapsFor swaps for another record than it was told to.
func swapsFor(change func(held, seen, next record) record) func(*parted) store.Store {
	return swapping(func(s *parted, c swap) (record, bool, error) {
		if held, found, _ := s.Get(c.ctx, c.seen.Key); found {
			c.next = change(held, c.seen, c.next)
		}
		return c.on(s)
	})
}

func refusesSwapWith(report func(seen, next, held record) record) func(*parted) store.Store {
	return swapping(func(s *parted, c swap) (record, bool, error) {
		held, swapped, err := c.on(s)
		if !swapped && err == nil {
			held = report(c.seen, c.next, held)
		}
		return held, swapped, err
	})
}

// swapClearsLease writes next anew where the lease should have stayed.
func swapClearsLease(s *parted) store.Store {
	return &faulty{parted: s, swap: func(ctx context.Context, seen, next record) (record, bool, error) {
		held, swapped, err := s.Swap(ctx, seen, next)
		if !swapped || !next.Lease.IsZero() {
			return held, swapped, err
		}
		written, _, err := s.Get(ctx, next.Key)
		if err != nil {
			return written, false, err
		}
		if _, err := s.Delete(ctx, written); err != nil {
			return written, false, err
		}
		return s.Claim(ctx, next, time.Time{})
	}}
}
