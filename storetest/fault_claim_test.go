package storetest_test

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func claimFaults() []fault {
	return []fault{
		{
			"claims over any record", "Claim/of a record in progress whose lease is live goes by its expiry",
			claimsOver(func(record, time.Time) bool { return true }),
		},
		{
			"claims over a completed record that has not expired", "Claim/is refused with the record as it is now",
			claimsOver(func(held record, _ time.Time) bool { return held.Status == store.StatusCompleted }),
		},
		{
			"claims over a completed record whose lease has ended",
			"Claim/of a completed record whose lease ended long ago goes by its expiry",
			claimsOver(func(held record, now time.Time) bool {
				return held.Status == store.StatusCompleted && !now.Before(held.Lease)
			}),
		},
		{
			"claims over a record in progress whose lease has ended",
			"Claim/of a record in progress whose lease ended long ago goes by its expiry",
			claimsOver(func(held record, now time.Time) bool {
				return held.Status == store.StatusInProgress && !held.Lease.IsZero() && !now.Before(held.Lease)
			}),
		},
		{
			"claims over a record in progress without a lease",
			"Claim/of a record in progress without a lease goes by its expiry",
			claimsOver(func(held record, _ time.Time) bool {
				return held.Status == store.StatusInProgress && held.Lease.IsZero()
			}),
		},
		{
			"claims over a record in progress whose expiry has come",
			"Claim/of a record in progress whose lease is live goes by its expiry",
			claimsOver(func(held record, now time.Time) bool {
				return held.Status == store.StatusInProgress && !now.Before(held.Expiry)
			}),
		},
		{
			"claims over a record without an owner",
			"Claim/of a record in progress of AWS Powertools whose lease is live goes by its expiry",
			claimsOver(func(held record, _ time.Time) bool { return held.Owner == "" }),
		},
		{
			"claims over a record without an owner whose expiry has come",
			"Claim/of a record in progress of AWS Powertools whose lease is live goes by its expiry",
			claimsOver(func(held record, now time.Time) bool {
				return held.Owner == "" && !now.Before(held.Expiry)
			}),
		},
		{
			"claims over an UNKNOWN record", "Claim/of an UNKNOWN record whose lease is live goes by its expiry",
			claimsOver(func(held record, _ time.Time) bool { return held.Status == store.StatusUnknown }),
		},
		{
			"claims over an UNKNOWN record before its expiry has come",
			"Claim/of an UNKNOWN record whose lease is live goes by its expiry",
			claimsOver(func(held record, now time.Time) bool {
				return held.Status == store.StatusUnknown && !now.Add(time.Millisecond).Before(held.Expiry)
			}),
		},
		{
			"ends a lease a millisecond early",
			"Claim/of a record in progress whose lease ends in a millisecond goes by its expiry",
			claimsOver(func(held record, now time.Time) bool {
				return !now.Before(held.Expiry) && !now.Add(time.Millisecond).Before(held.Lease)
			}),
		},
		{
			"keeps an UNKNOWN record for ever", "Claim/of an UNKNOWN record whose lease is live goes by its expiry",
			claimsNever(func(held record) bool { return held.Status == store.StatusUnknown }),
		},
		{
			"keeps a crashed record for ever",
			"Claim/of a record in progress whose lease has just ended goes by its expiry",
			claimsNever(func(held record) bool {
				return held.Status == store.StatusInProgress &&
					!held.Lease.IsZero()
			}),
		},
		{
			"keeps a record in progress without a lease for ever",
			"Claim/of a record in progress without a lease goes by its expiry",
			claimsNever(func(held record) bool { return held.Status == store.StatusInProgress && held.Lease.IsZero() }),
		},
		{
			"lets the lease of a completed record count",
			"Claim/of a completed record whose lease is live goes by its expiry",
			claimsNever(func(held record) bool {
				return held.Status == store.StatusCompleted && held.Lease.After(held.Expiry)
			}),
		},
		{
			"lets records expire a second early",
			"Claim/of a completed record whose lease ended long ago goes by its expiry",
			claimsAt(func(now time.Time) time.Time { return now.Add(time.Second) }),
		},
		{
			"rounds now up to the second", "Claim/of a completed record whose lease ended long ago goes by its expiry",
			claimsAt(func(now time.Time) time.Time {
				return now.Add(time.Second - time.Nanosecond).Truncate(time.Second)
			}),
		},
		{
			"rounds now to the nearest second",
			"Claim/of a completed record whose lease ended long ago goes by its expiry",
			claimsAt(func(now time.Time) time.Time { return now.Round(time.Second) }),
		},
		{
			"lets records expire only after their expiry",
			"Claim/of a completed record whose lease ended long ago goes by its expiry",
			claimsAt(func(now time.Time) time.Time { return now.Add(-time.Nanosecond) }),
		},
		{
			"lets records expire a second late",
			"Claim/of a completed record whose lease ended long ago goes by its expiry",
			claimsAt(func(now time.Time) time.Time { return now.Add(-time.Second) }),
		},
		{
			"never lets records expire", "Claim/of a completed record whose lease ended long ago goes by its expiry",
			claimsAt(func(time.Time) time.Time { return time.Time{} }),
		},
		{
			"grants a claim to the owner that has it", "Claim/repeated by its own owner is refused with its own record",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						held, claimed, err := s.Claim(ctx, r, now)
						return held, claimed || held.Owner == r.Owner, err
					},
				}
			},
		},
		{
			"keeps what the claimed record had", "Claim/replaces the held record completely",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						held, _, _ := s.Get(ctx, r.Key)
						if r.Fingerprint == "" {
							r.Fingerprint = held.Fingerprint
						}
						return s.Claim(ctx, r, now)
					},
				}
			},
		},
		{
			"keeps the lease of the claimed record", "Claim/replaces the held record completely",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						held, _, _ := s.Get(ctx, r.Key)
						if r.Lease.IsZero() {
							r.Lease = held.Lease
						}
						return s.Claim(ctx, r, now)
					},
				}
			},
		},
		{
			"drops records whose lease has ended", "Claim/of another key drops no record before its expiry has passed",
			drops(func(r record, now time.Time) bool { return now.After(r.Lease) }),
		},
		{
			"drops UNKNOWN records in the instant of their expiry",
			"Claim/of another key drops no record before its expiry has passed",
			drops(func(r record, now time.Time) bool {
				return r.Status == store.StatusUnknown && !now.Before(r.Expiry)
			}),
		},
		{
			"drops records of other keys that are claimable",
			"Claim/of another key drops no record before its expiry has passed",
			drops(record.Claimable),
		},
		{
			"refuses a claim without saying why", "Claim/is refused with the record as it is now",
			refusesClaimWith(func(_, _ record) record { return record{} }),
		},
		{
			"refuses a claim with the claim", "Claim/is refused with the record as it is now",
			refusesClaimWith(func(r, _ record) record { return r }),
		},
		{
			"refuses a claim without the result", "Claim/is refused with the record as it is now",
			refusesClaimWith(func(_, held record) record {
				held.Result = nil
				return held
			}),
		},
		{
			"refuses a claim with what was held first",
			"Claim/is refused with the record as it is now",
			stale,
		},
	}
}

// claimsOver removes a held record for which the condition is true, and then claims.
func claimsOver(condition func(held record, now time.Time) bool) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
			held, found, _ := s.Get(ctx, r.Key)
			if found && condition(held, now) {
				if _, err := s.Delete(ctx, held); err != nil {
					return record{}, false, err
				}
			}
			return s.Claim(ctx, r, now)
		}}
	}
}

// claimsNever refuses every claim of such a record.
func claimsNever(kept func(held record) bool) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
			if held, found, _ := s.Get(ctx, r.Key); found && kept(held) {
				return held, false, nil
			}
			return s.Claim(ctx, r, now)
		}}
	}
}

// drops removes records of other keys that a claim finds to be over.
func drops(over func(r record, now time.Time) bool) func(*parted) store.Store {
	return func(s *parted) store.Store {
		var keys []string
		return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
			for _, key := range keys {
				held, found, _ := s.Get(ctx, key)
				if !found || key == r.Key || !over(held, now) {
					continue
				}
				if _, err := s.Delete(ctx, held); err != nil {
					return record{}, false, err
				}
			}
			keys = append(keys, r.Key)
			return s.Claim(ctx, r, now)
		}}
	}
}

// claimsAt claims at another instant.
func claimsAt(change func(time.Time) time.Time) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
			return s.Claim(ctx, r, change(now))
		}}
	}
}

func refusesClaimWith(report func(r, held record) record) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
			held, claimed, err := s.Claim(ctx, r, now)
			if !claimed && err == nil {
				held = report(r, held)
			}
			return held, claimed, err
		}}
	}
}

// stale reports what was claimed, whatever has become of it since.
func stale(s *parted) store.Store {
	first := make(map[string]record)
	return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
		held, claimed, err := s.Claim(ctx, r, now)
		if claimed {
			first[r.Key] = r
		} else if err == nil {
			held = first[r.Key]
		}
		return held, claimed, err
	}}
}
