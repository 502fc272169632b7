package storetest_test

import (
	"reflect"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/store"
)

func swapFaults() faults {
	const (
		absent = "Swap/of a key without a record is refused with a zero record, and writes nothing"
		stale  = "Swap/by an owner that was taken over is refused with the record of the new owner"
	)
	return faults{
		"Swap/keeps the held lease if next has none": {
			{"Swap clears the lease if next has none", swaps.after(func(c call, a *answer) {
				if a.Done && c.Next.Lease.IsZero() {
					c.held = c.holds()
					c.drop()
					*a = c.as(calls.Claim)
				}
			})},
			{"Swap keeps the lease that was seen if next has none", swaps.before(func(c *call) {
				if c.Next.Lease.IsZero() {
					c.Next.Lease = c.Seen.Lease
				}
				if c.Next.Lease.IsZero() {
					c.Next.Lease = time.Unix(0, 0)
				}
			})},
		},
		"Swap/never moves the lease of an owner back": {
			{"Swap moves the lease of an owner back", swaps.before(func(c *call) {
				if !c.held.Shortens(c.Next) || c.held.Status != c.Seen.Status || c.held.Owner != c.Seen.Owner {
					return
				}
				between := c.held // as another owner, nothing keeps it from a shorter lease
				between.Owner = "between"
				earlier := *c
				earlier.Seen, earlier.Next = c.held, between
				earlier.pass()
				c.Seen = between
			})},
		},
		"Swap/renews a lease, again and again": {
			{"Swap leaves the lease alone", swaps.before(func(c *call) { c.Next.Lease = c.held.Lease })},
		},
		"Swap/gives a lease to a record that had none": {
			{"Swap leaves the lease alone where there was none", swaps.before(func(c *call) {
				if unleased(*c) {
					c.Next.Lease = time.Time{}
				}
			})},
		},
		"Swap/takes over a record whose lease ended": {
			{"Swap leaves the owner alone", swaps.before(func(c *call) { c.Next.Owner = c.held.Owner })},
		},
		"Swap/takes over a record that AWS Powertools wrote": {
			{"Swap does not give an owner to a record without one", swaps.before(func(c *call) {
				if ownerless(*c) {
					c.Next.Owner = ""
				}
			})},
		},
		"Swap/keeps the fields that stay equal": {
			{"Swap drops the fields that stay equal", swaps.before(func(c *call) {
				if c.Next.Fingerprint == c.Seen.Fingerprint {
					c.Next.Fingerprint = ""
				}
			})},
		},
		"Swap/marks a record UNKNOWN, and lets its owner complete it later": {
			{"Swap completes only what is in progress", swaps.instead(func(c call) answer {
				if c.Next.Status == store.StatusCompleted && c.Seen.Status != store.StatusInProgress {
					return answer{Held: c.held}
				}
				return c.pass()
			})},
		},
		absent: {
			{"Swap writes a record that is not held", insertsAbsent(swaps)},
			{"Swap of an absent record reports what was seen", swaps.refusing(showsSeenIfAbsent)},
		},
		"Swap/repeated is refused with its own record": {
			{"Swap accepts a repeated completion", acceptsItsSeal(swaps)},
			{"Swap refuses without saying why", swaps.refusing(func(call) record { return record{} })},
		},
		stale: {
			{"Swap refuses with what was seen", swaps.refusing(func(c call) record { return c.Seen })},
			{"Swap refuses with next", swaps.refusing(func(c call) record { return c.Next })},
			{"Swap changes a record although it refuses", swaps.after(func(c call, a *answer) {
				if !a.Done && a.Held.Key != "" {
					c.Seen, c.Next = a.Held, a.Held
					c.Next.Attempt++
					c.pass()
				}
			})},
			{"Delete by a stale owner removes the record", deletes.instead(func(c call) answer {
				c.drop()
				return answer{}
			})},
		},
		"Sequence/of calls is answered as a register answers it": {
			{"Swap loses every seventh write", swaps.instead(func(c call) answer {
				if c.count++; c.count%7 == 0 {
					return answer{Done: true}
				}
				return c.pass()
			})},
		},
	}
}

// insertsAbsent writes a record that is not held.
func insertsAbsent(m methods) inject {
	return m.instead(func(c call) answer {
		if c.held.Key == "" {
			return c.as(calls.Claim)
		}
		return c.pass()
	})
}

func showsSeenIfAbsent(c call) record {
	if c.held.Key == "" {
		return c.Seen
	}
	return c.held
}

// acceptsItsSeal takes a completion for one that has happened if the held record has its seal.
func acceptsItsSeal(m methods) inject {
	return m.after(func(c call, a *answer) {
		a.Done = a.Done || a.Err == nil && a.Held.Seal != "" && a.Held.Seal == c.Next.Seal
	})
}

// leftoverFaults keep what a field had if it becomes zero.
func leftoverFaults() faults {
	var all []fault
	for _, name := range []string{"Fingerprint", "Seal", "Attempt", "CreatedAt", "Reason", "Result"} {
		all = append(all, fault{"Swap does not clear " + name, swaps.before(func(c *call) {
			if next := reflect.ValueOf(&c.Next).Elem().FieldByName(name); next.IsZero() {
				next.Set(reflect.ValueOf(c.held).FieldByName(name))
			}
		})})
	}
	return faults{"Swap/clears the fields that become zero": all}
}
