package storetest_test

import (
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// mistake is a fault of the comparison that Swap, Delete and Commit share: it changes what was seen
// into what the store takes it for.
type mistake struct {
	name string
	take func(c *call)
}

// in makes the mistake in these methods, where a record is held.
func (m mistake) in(of methods) inject {
	return of.before(func(c *call) {
		if c.held.Key != "" {
			m.take(c)
		}
	})
}

// seenFaults are the mistakes, each once in Swap, in Delete and in Commit.
func seenFaults() faults {
	all := make(faults)
	for _, in := range []struct {
		method, check string
		methods
	}{
		{"Swap ", "Seen/Swap of ", swaps},
		{"Delete ", "Seen/Delete of ", deletes},
		{"Commit ", "Commit/Seen Swap of ", commits},
	} {
		for _, mistakes := range []map[string][]mistake{tooLoose(), tooStrict()} {
			for kind, of := range mistakes {
				check := in.check + kind + " compares what was seen"
				for _, m := range of {
					all[check] = append(all[check], fault{in.method + m.name, m.in(in.methods)})
				}
			}
		}
	}
	return all
}

// tooLoose are comparisons that ask for less than they should: if something holds, they take a
// field of what is held for what was seen. They are caught by records of these kinds.
func tooLoose() map[string][]mistake {
	take := func(field func(c *call), where ...condition) func(c *call) {
		return func(c *call) {
			if c.meets(where) {
				field(c)
			}
		}
	}
	status := func(c *call) { c.Seen.Status = c.held.Status }
	owner := func(c *call) { c.Seen.Owner = c.held.Owner }
	lease := func(c *call) { c.Seen.Lease = c.held.Lease }
	expiry := func(c *call) { c.Seen.Expiry = c.held.Expiry }
	reason := func(c *call) { c.Seen.Reason = c.held.Reason }
	writes := func(c *call) { c.Seen.StepWrites = store.AnyStepWrites }
	sawOwner := func(c call) bool { return c.Seen.Owner != "" }
	sawNoOwner := func(c call) bool { return c.Seen.Owner == "" }
	sawRunning := func(c call) bool { return c.Seen.Status == store.StatusInProgress }
	unwritten := func(c call) bool { return c.held.StepWrites == 0 }
	return map[string][]mistake{
		"a record in progress": {
			{"ignores the status", take(status)},
			{"ignores the owner", take(owner, owned, sawOwner)},
			{"ignores the owner where no lease was seen", take(owner, sawNoLease)},
			{"ignores the lease", take(lease, owned)},
			{"compares the seconds of the lease", take(lease, func(c call) bool {
				return c.held.Lease.Truncate(time.Second).Equal(c.Seen.Lease.Truncate(time.Second))
			})},
			{"lets the lease be later", take(lease, sawLease, func(c call) bool {
				return c.held.Lease.After(c.Seen.Lease)
			})},
			{"lets the lease be earlier", take(lease, leased, func(c call) bool {
				return c.held.Lease.Before(c.Seen.Lease)
			})},
			{"lets a record have an owner where none was seen", take(owner, sawNoOwner)},
			{"ignores step writes", take(writes)},
			{"ignores step writes where there are none", take(writes, unwritten)},
			{"compares the number of steps", take(writes, func(c call) bool {
				return len(c.held.Steps) == len(c.Seen.Steps)
			})},
			{"ignores the reason", take(reason)},
			{"ignores the reason that a record had", take(reason, func(c call) bool { return c.held.Reason == "" })},
		},
		"a record in progress without a lease": {
			{"lets the lease be absent", take(lease, owned, unleased)},
			{"ignores step writes where no lease was seen", take(writes, sawNoLease)},
		},
		"a record with a step": {
			{"ignores step writes where none were seen", take(writes, func(c call) bool { return c.Seen.StepWrites == 0 })},
			{"asks whether there are steps", take(writes, func(c call) bool {
				return c.held.StepWrites > 0 && c.Seen.StepWrites > 0
			})},
		},
		"an UNKNOWN record": {
			{"takes UNKNOWN for in progress", take(status, unknown, sawRunning)},
			{"ignores the step writes of an UNKNOWN record", take(writes, unknown)},
		},
		"a completed record": {
			{"takes completed for in progress", take(status, completed, sawRunning)},
		},
		"a record without an owner": {
			{"lets a record have no owner", take(owner, ownerless)},
			{"lets a record have no owner where no lease was seen", take(func(c *call) {
				c.Seen.Owner, c.Seen.Lease = "", c.held.Lease
			}, ownerless, sawNoLease)},
			{"ignores the lease of a record without an owner", take(lease, ownerless, sawLease, leased)},
			{"lets a record without an owner have a lease where none was seen", take(lease, ownerless, sawNoLease)},
			{"ignores the expiry of a record without an owner", take(expiry)},
			{"ignores the reason of a record without an owner", take(reason, ownerless)},
		},
		"a record without an owner and a lease": {
			{"lets a record without an owner have no lease", take(lease, ownerless, unleased)},
			{"ignores the expiry of a record without an owner and lease", take(expiry, unleased)},
		},
	}
}

// tooStrict are comparisons that ask for more than they should: if something holds, they find
// another owner.
func tooStrict() map[string][]mistake {
	refuse := func(where ...condition) func(c *call) {
		return func(c *call) {
			if c.meets(where) {
				c.Seen.Owner = "nobody"
			}
		}
	}
	otherExpiry := func(c call) bool { return !c.held.Expiry.Equal(c.Seen.Expiry) }
	otherReason := func(c call) bool { return c.held.Reason != c.Seen.Reason }
	written := func(c call) bool { return c.held.StepWrites > 0 }
	return map[string][]mistake{
		"a record in progress": {
			{"compares a lease that was not seen", refuse(func(c call) bool {
				return !c.held.Lease.Equal(c.Seen.Lease)
			})},
			{"compares the time zone of the lease", refuse(func(c call) bool {
				return c.held.Lease.Format(time.RFC3339) != c.Seen.Lease.Format(time.RFC3339)
			})},
			{"compares the expiry of a record with an owner", refuse(otherExpiry)},
			{"compares the fingerprint", refuse(func(c call) bool { return c.held.Fingerprint != c.Seen.Fingerprint })},
			{"asks for steps where they are not compared", refuse(func(c call) bool {
				return c.held.StepWrites == 0 && c.Seen.StepWrites == store.AnyStepWrites
			})},
		},
		"a record in progress without a lease": {
			{"compares the expiry where no lease was seen", refuse(sawNoLease, otherExpiry)},
			{"knows no record without a lease", refuse(unleased)},
		},
		"a record that was released": {
			{"knows no record that was released", refuse(running, func(c call) bool { return c.held.Reason != "" })},
		},
		"a record with a step": {
			{"always compares step writes", func(c *call) { c.Seen.StepWrites = max(0, c.Seen.StepWrites) }},
			{"knows no record with steps", refuse(written)},
		},
		"an UNKNOWN record": {
			{"knows no UNKNOWN record", refuse(unknown)},
			{"compares the reason of an UNKNOWN record", refuse(unknown, otherReason)},
		},
		"an UNKNOWN record with a step": {
			{"knows no UNKNOWN record with steps", refuse(unknown, written)},
		},
		"a completed record": {
			{"knows no completed record", refuse(completed)},
			{"compares the step writes of a completed record", refuse(completed, func(c call) bool {
				return c.held.StepWrites != c.Seen.StepWrites
			})},
			{"compares the reason of a completed record", refuse(completed, otherReason)},
		},
		"a record without an owner": {
			{"knows no record without an owner", refuse(ownerless)},
		},
		"a record without an owner and a lease": {
			{"knows no record without an owner and lease", refuse(ownerless, unleased)},
		},
	}
}
