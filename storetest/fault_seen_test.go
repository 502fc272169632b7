package storetest_test

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// mistake is a fault of the comparison that Swap and Delete share.
type mistake struct {
	name   string
	caught string
	// mistake changes what was seen into what the store takes it for.
	mistake func(held record, seen *record)
}

// seenFaults are the mistakes, each once in Swap and once in Delete.
func seenFaults() []fault {
	loose, strict := tooLoose(), tooStrict()
	all := make([]fault, 0, 2*(len(loose)+len(strict)))
	for _, m := range loose {
		all = append(all,
			fault{"Swap " + m.name, "Seen/Swap leaves alone " + m.caught, mistakes(m.mistake, true, false)},
			fault{"Delete " + m.name, "Seen/Delete leaves alone " + m.caught, mistakes(m.mistake, false, true)})
	}
	for _, m := range strict {
		all = append(all,
			fault{"Swap " + m.name, "Seen/Swap replaces " + m.caught, mistakes(m.mistake, true, false)},
			fault{"Delete " + m.name, "Seen/Delete removes " + m.caught, mistakes(m.mistake, false, true)})
	}
	return all
}

// tooLoose are comparisons that ask for less than they should.
func tooLoose() []mistake {
	return []mistake{
		{
			"ignores the status", "a record that is UNKNOWN and was INPROGRESS",
			func(held record, seen *record) { seen.Status = held.Status },
		},
		{
			"takes UNKNOWN for in progress", "a record that is UNKNOWN and was INPROGRESS",
			func(held record, seen *record) {
				if held.Status == store.StatusUnknown && seen.Status == store.StatusInProgress {
					seen.Status = held.Status
				}
			},
		},
		{
			"takes completed for in progress", "a record that is COMPLETED and was INPROGRESS",
			func(held record, seen *record) {
				if held.Status == store.StatusCompleted && seen.Status == store.StatusInProgress {
					seen.Status = held.Status
				}
			},
		},
		{
			"ignores the owner", "a record of another owner",
			func(held record, seen *record) {
				if held.Owner != "" && seen.Owner != "" {
					seen.Owner = held.Owner
				}
			},
		},
		{
			"ignores the owner where no lease was seen", "a record of another owner if no lease was seen",
			func(held record, seen *record) {
				if seen.Lease.IsZero() {
					seen.Owner = held.Owner
				}
			},
		},
		{
			"ignores the lease", "a record whose lease is a millisecond later",
			func(held record, seen *record) {
				if held.Owner != "" {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"compares the seconds of the lease", "a record whose lease is a millisecond later",
			func(held record, seen *record) {
				if held.Lease.Truncate(time.Second).Equal(seen.Lease.Truncate(time.Second)) {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"lets the lease be later", "a record whose lease is a millisecond later",
			func(held record, seen *record) {
				if held.Lease.After(seen.Lease) && !seen.Lease.IsZero() {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"lets the lease be earlier", "a record whose lease is a millisecond earlier",
			func(held record, seen *record) {
				if held.Lease.Before(seen.Lease) && !held.Lease.IsZero() {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"lets the lease be absent", "a record without a lease if one was seen",
			func(held record, seen *record) {
				if held.Owner != "" && held.Lease.IsZero() {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"lets a record have an owner where none was seen", "a record with an owner if none was seen",
			func(held record, seen *record) {
				if seen.Owner == "" {
					seen.Owner = held.Owner
				}
			},
		},
		{
			"lets a record have no owner", "a record without an owner if one was seen",
			func(held record, seen *record) {
				if held.Owner == "" {
					seen.Owner = ""
				}
			},
		},
		{
			"lets a record have no owner where no lease was seen",
			"a record without an owner if one, and no lease, was seen",
			func(held record, seen *record) {
				if held.Owner == "" && seen.Lease.IsZero() {
					seen.Owner, seen.Lease = "", held.Lease
				}
			},
		},
		{
			"ignores the lease of a record without an owner", "a record without an owner that has another lease",
			func(held record, seen *record) {
				if held.Owner == "" && !seen.Lease.IsZero() && !held.Lease.IsZero() {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"lets a record without an owner have a lease where none was seen",
			"a record without an owner that has a lease if none was seen",
			func(held record, seen *record) {
				if held.Owner == "" && seen.Lease.IsZero() {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"lets a record without an owner have no lease",
			"a record without an owner that has no lease if one was seen",
			func(held record, seen *record) {
				if held.Owner == "" && held.Lease.IsZero() {
					seen.Lease = held.Lease
				}
			},
		},
		{
			"ignores the expiry of a record without an owner", "a record without an owner that expires a second later",
			func(held record, seen *record) { seen.Expiry = held.Expiry },
		},
		{
			"ignores the expiry of a record without an owner and lease",
			"a record without an owner and lease that expires a second later",
			func(held record, seen *record) {
				if held.Lease.IsZero() {
					seen.Expiry = held.Expiry
				}
			},
		},
	}
}

// tooStrict are comparisons that ask for more than they should.
func tooStrict() []mistake {
	return []mistake{
		{
			"compares a lease that was not seen", "a record of the owner seen, whatever its lease, if no lease was seen",
			func(held record, seen *record) {
				if !held.Lease.Equal(seen.Lease) {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"compares the time zone of the lease", "a record whose lease was seen in another time zone",
			func(held record, seen *record) {
				if held.Lease.Format(time.RFC3339) != seen.Lease.Format(time.RFC3339) {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"compares the expiry of a record with an owner",
			"a record of the owner and lease seen, whatever else was seen",
			func(held record, seen *record) {
				if !held.Expiry.Equal(seen.Expiry) {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"compares the fingerprint", "a record of the owner and lease seen, whatever else was seen",
			func(held record, seen *record) {
				if held.Fingerprint != seen.Fingerprint {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"compares the expiry where no lease was seen", "a record of the owner seen, if nothing else was seen",
			func(held record, seen *record) {
				if seen.Lease.IsZero() && !held.Expiry.Equal(seen.Expiry) {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"knows no record without an owner", "a record without an owner, by its lease and expiry",
			func(held record, seen *record) {
				if held.Owner == "" {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"knows no record without an owner and lease", "a record without an owner and without a lease, by its expiry",
			func(held record, seen *record) {
				if held.Owner == "" && held.Lease.IsZero() {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"knows no record without a lease", "a record without a lease, of the owner seen",
			func(held record, seen *record) {
				if held.Lease.IsZero() {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"knows no completed record", "a completed record",
			func(held record, seen *record) {
				if held.Status == store.StatusCompleted {
					seen.Owner = "nobody"
				}
			},
		},
		{
			"knows no UNKNOWN record", "an UNKNOWN record",
			func(held record, seen *record) {
				if held.Status == store.StatusUnknown {
					seen.Owner = "nobody"
				}
			},
		},
	}
}

// mistakes makes the store take what was seen for something else.
func mistakes(mistake func(held record, seen *record), inSwap, inDelete bool) func(*parted) store.Store {
	return func(s *parted) store.Store {
		f := &faulty{parted: s}
		if inSwap {
			f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
				if held, found, _ := s.Get(ctx, seen.Key); found {
					mistake(held, &seen)
				}
				return s.Swap(ctx, seen, next)
			}
		}
		if inDelete {
			f.del = func(ctx context.Context, seen record) (bool, error) {
				if held, found, _ := s.Get(ctx, seen.Key); found {
					mistake(held, &seen)
				}
				return s.Delete(ctx, seen)
			}
		}
		return f
	}
}
