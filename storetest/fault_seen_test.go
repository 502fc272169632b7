package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// mistake is a fault of the comparison that Swap, Delete and Commit share.
type mistake struct {
	name string
	// of is a kind of records by which it is caught.
	of string
	// take changes what was seen into what the store takes it for.
	take func(held record, seen *record)
}

// seenFaults are the mistakes, each once in Swap, in Delete and in Commit.
func seenFaults() (all []fault) {
	for _, m := range slices.Concat(tooLoose(), tooStrict()) {
		caught := " of " + m.of + " compares what was seen"
		all = append(all,
			fault{"Swap " + m.name, "Seen/Swap" + caught, swapping(func(s *parted, c swap) (record, bool, error) {
				return s.Swap(c.ctx, m.taken(c.ctx, s, c.seen), c.next)
			})},
			fault{"Delete " + m.name, "Seen/Delete" + caught, func(s *parted) store.Store {
				return &faulty{parted: s, del: func(ctx context.Context, seen record) (bool, error) {
					return s.Delete(ctx, m.taken(ctx, s, seen))
				}}
			}},
			fault{"Commit " + m.name, "Commit/Seen Swap" + caught, mistaken(m)})
	}
	return all
}

// taken is what the store takes for what was seen.
func (m mistake) taken(ctx context.Context, s *parted, seen record) record {
	if held, found, _ := s.Get(ctx, seen.Key); found {
		m.take(held, &seen)
	}
	return seen
}

// The kinds of records of which the suite compares what was seen.
const (
	running           = "a record in progress"
	unleased          = "a record in progress without a lease"
	released          = "a record that was released"
	stepped           = "a record with a step"
	unknown           = "an UNKNOWN record"
	unknownStepped    = "an UNKNOWN record with a step"
	completed         = "a completed record"
	ownerless         = "a record without an owner"
	ownerlessUnleased = "a record without an owner and a lease"
)

// tooLoose are comparisons that ask for less than they should: if something holds, they take a
// field of what is held for what was seen.
func tooLoose() []mistake {
	status := func(held record, seen *record) { seen.Status = held.Status }
	owner := func(held record, seen *record) { seen.Owner = held.Owner }
	lease := func(held record, seen *record) { seen.Lease = held.Lease }
	expiry := func(held record, seen *record) { seen.Expiry = held.Expiry }
	reason := func(held record, seen *record) { seen.Reason = held.Reason }
	writes := func(_ record, seen *record) { seen.StepWrites = store.AnyStepWrites }
	where := func(holds func(held, seen record) bool, take func(held record, seen *record)) func(held record,
		seen *record) {
		return func(held record, seen *record) {
			if holds(held, *seen) {
				take(held, seen)
			}
		}
	}
	always := func(_, _ record) bool { return true }
	return []mistake{
		{"ignores the status", running, status},
		{"takes UNKNOWN for in progress", unknown, where(func(held, seen record) bool {
			return held.Status == store.StatusUnknown && seen.Status == store.StatusInProgress
		}, status)},
		{"takes completed for in progress", completed, where(func(held, seen record) bool {
			return held.Status == store.StatusCompleted && seen.Status == store.StatusInProgress
		}, status)},
		{
			"ignores the owner", running,
			where(func(held, seen record) bool { return held.Owner != "" && seen.Owner != "" }, owner),
		},
		{
			"ignores the owner where no lease was seen", running,
			where(func(_, seen record) bool { return seen.Lease.IsZero() }, owner),
		},
		{"ignores the lease", running, where(func(held, _ record) bool { return held.Owner != "" }, lease)},
		{"compares the seconds of the lease", running, where(func(held, seen record) bool {
			return held.Lease.Truncate(time.Second).Equal(seen.Lease.Truncate(time.Second))
		}, lease)},
		{"lets the lease be later", running, where(func(held, seen record) bool {
			return held.Lease.After(seen.Lease) && !seen.Lease.IsZero()
		}, lease)},
		{"lets the lease be earlier", running, where(func(held, seen record) bool {
			return held.Lease.Before(seen.Lease) && !held.Lease.IsZero()
		}, lease)},
		{"lets the lease be absent", unleased, where(func(held, _ record) bool {
			return held.Owner != "" && held.Lease.IsZero()
		}, lease)},
		{
			"lets a record have an owner where none was seen", running,
			where(func(_, seen record) bool { return seen.Owner == "" }, owner),
		},
		{"lets a record have no owner", ownerless, where(func(held, _ record) bool { return held.Owner == "" }, owner)},
		{"lets a record have no owner where no lease was seen", ownerless, where(func(held, seen record) bool {
			return held.Owner == "" && seen.Lease.IsZero()
		}, func(held record, seen *record) { seen.Owner, seen.Lease = "", held.Lease })},
		{"ignores the lease of a record without an owner", ownerless, where(func(held, seen record) bool {
			return held.Owner == "" && !seen.Lease.IsZero() && !held.Lease.IsZero()
		}, lease)},
		{
			"lets a record without an owner have a lease where none was seen", ownerless,
			where(func(held, seen record) bool {
				return held.Owner == "" && seen.Lease.IsZero()
			}, lease),
		},
		{"lets a record without an owner have no lease", ownerlessUnleased, where(func(held, _ record) bool {
			return held.Owner == "" && held.Lease.IsZero()
		}, lease)},
		{"ignores the expiry of a record without an owner", ownerless, where(always, expiry)},
		{
			"ignores the expiry of a record without an owner and lease", ownerlessUnleased,
			where(func(held, _ record) bool {
				return held.Lease.IsZero()
			}, expiry),
		},
		{"ignores step writes", running, writes},
		{
			"ignores step writes where none were seen", stepped,
			where(func(_, seen record) bool { return seen.StepWrites == 0 }, writes),
		},
		{
			"ignores step writes where there are none", running,
			where(func(held, _ record) bool { return held.StepWrites == 0 }, writes),
		},
		{"asks whether there are steps", stepped, where(func(held, seen record) bool {
			return held.StepWrites > 0 && seen.StepWrites > 0
		}, writes)},
		{
			"compares the number of steps", running,
			where(func(held, seen record) bool { return len(held.Steps) == len(seen.Steps) }, writes),
		},
		{"ignores the step writes of an UNKNOWN record", unknown, where(func(held, _ record) bool {
			return held.Status == store.StatusUnknown
		}, writes)},
		{
			"ignores step writes where no lease was seen", unleased,
			where(func(_, seen record) bool { return seen.Lease.IsZero() }, writes),
		},
		{"ignores the reason", running, reason},
		{
			"ignores the reason that a record had", running,
			where(func(held, _ record) bool { return held.Reason == "" }, reason),
		},
		{
			"ignores the reason of a record without an owner", ownerless,
			where(func(held, _ record) bool { return held.Owner == "" }, reason),
		},
	}
}

// tooStrict are comparisons that ask for more than they should: if something holds, they find
// another owner.
func tooStrict() []mistake {
	unless := func(refuses func(held, seen record) bool) func(held record, seen *record) {
		return func(held record, seen *record) {
			if refuses(held, *seen) {
				seen.Owner = "nobody"
			}
		}
	}
	is := func(status store.Status, or func(held, seen record) bool) func(held record, seen *record) {
		return unless(func(held, seen record) bool { return held.Status == status && or(held, seen) })
	}
	always := func(_, _ record) bool { return true }
	reason := func(held, seen record) bool { return held.Reason != seen.Reason }
	written := func(held, _ record) bool { return held.StepWrites > 0 }
	return []mistake{
		{
			"compares a lease that was not seen", running,
			unless(func(held, seen record) bool { return !held.Lease.Equal(seen.Lease) }),
		},
		{"compares the time zone of the lease", running, unless(func(held, seen record) bool {
			return held.Lease.Format(time.RFC3339) != seen.Lease.Format(time.RFC3339)
		})},
		{"compares the expiry of a record with an owner", running, unless(func(held, seen record) bool {
			return !held.Expiry.Equal(seen.Expiry)
		})},
		{
			"compares the fingerprint", running,
			unless(func(held, seen record) bool { return held.Fingerprint != seen.Fingerprint }),
		},
		{"compares the expiry where no lease was seen", unleased, unless(func(held, seen record) bool {
			return seen.Lease.IsZero() && !held.Expiry.Equal(seen.Expiry)
		})},
		{"knows no record without an owner", ownerless, unless(func(held, _ record) bool { return held.Owner == "" })},
		{"knows no record without an owner and lease", ownerlessUnleased, unless(func(held, _ record) bool {
			return held.Owner == "" && held.Lease.IsZero()
		})},
		{"knows no record without a lease", unleased, unless(func(held, _ record) bool { return held.Lease.IsZero() })},
		{"knows no completed record", completed, is(store.StatusCompleted, always)},
		{"knows no UNKNOWN record", unknown, is(store.StatusUnknown, always)},
		{
			"always compares step writes", stepped,
			func(_ record, seen *record) { seen.StepWrites = max(0, seen.StepWrites) },
		},
		{"asks for steps where they are not compared", running, unless(func(held, seen record) bool {
			return held.StepWrites == 0 && seen.StepWrites == store.AnyStepWrites
		})},
		{"knows no record with steps", stepped, unless(written)},
		{"knows no UNKNOWN record with steps", unknownStepped, is(store.StatusUnknown, written)},
		{
			"compares the step writes of a completed record", completed,
			is(store.StatusCompleted, func(held, seen record) bool {
				return held.StepWrites != seen.StepWrites
			}),
		},
		{
			"knows no record that was released", released,
			is(store.StatusInProgress, func(held, _ record) bool { return held.Reason != "" }),
		},
		{"compares the reason of an UNKNOWN record", unknown, is(store.StatusUnknown, reason)},
		{"compares the reason of a completed record", completed, is(store.StatusCompleted, reason)},
	}
}
