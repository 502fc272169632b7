package storetest_test

import (
	"reflect"
	"time"

	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func swapFaults() faults {
	const (
		absent = "Swap/of a key without a record is refused with a zero record, and writes nothing"
		stale  = "Swap/by an owner that was taken over is refused with the record of the new owner"
	)
	return faults{
		"Swap/keeps the held lease if next has none": {
			{"Swap clears the lease if next has none", swaps.after(func(c call, a *answer) {
				if a.done && c.next.Lease.IsZero() {
					c.held = c.holds()
					c.drop()
					*a = c.as(storetest.OpClaim)
				}
			})},
			{"Swap keeps the lease that was seen if next has none", swaps.before(func(c *call) {
				if c.next.Lease.IsZero() {
					c.next.Lease = c.seen.Lease
				}
				if c.next.Lease.IsZero() {
					c.next.Lease = time.Unix(0, 0)
				}
			})},
		},
		"Swap/never moves the lease of an owner back": {
			{"Swap moves the lease of an owner back", swaps.before(func(c *call) {
				if !c.held.Shortens(c.next) || c.held.Status != c.seen.Status || c.held.Owner != c.seen.Owner {
					return
				}
				between := c.held // as another owner, nothing keeps it from a shorter lease
				between.Owner = "between"
				call{faulty: c.faulty, ctx: c.ctx, op: c.op, seen: c.held, next: between}.pass()
				c.seen = between
			})},
		},
		"Swap/renews a lease, again and again": {
			{"Swap leaves the lease alone", swaps.before(func(c *call) { c.next.Lease = c.held.Lease })},
		},
		"Swap/gives a lease to a record that had none": {
			{"Swap leaves the lease alone where there was none", swaps.before(func(c *call) {
				if unleased(*c) {
					c.next.Lease = time.Time{}
				}
			})},
		},
		"Swap/takes over a record whose lease ended": {
			{"Swap leaves the owner alone", swaps.before(func(c *call) { c.next.Owner = c.held.Owner })},
		},
		"Swap/takes over a record that AWS Powertools wrote": {
			{"Swap does not give an owner to a record without one", swaps.before(func(c *call) {
				if ownerless(*c) {
					c.next.Owner = ""
				}
			})},
		},
		"Swap/keeps the fields that stay equal": {
			{"Swap drops the fields that stay equal", swaps.before(func(c *call) {
				if c.next.Fingerprint == c.seen.Fingerprint {
					c.next.Fingerprint = ""
				}
			})},
		},
		"Swap/marks a record UNKNOWN, and lets its owner complete it later": {
			{"Swap completes only what is in progress", swaps.instead(func(c call) answer {
				if c.next.Status == store.StatusCompleted && c.seen.Status != store.StatusInProgress {
					return answer{held: c.held}
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
			{"Swap refuses with what was seen", swaps.refusing(func(c call) record { return c.seen })},
			{"Swap refuses with next", swaps.refusing(func(c call) record { return c.next })},
			{"Swap changes a record although it refuses", swaps.after(func(c call, a *answer) {
				if !a.done && a.held.Key != "" {
					c.seen, c.next = a.held, a.held
					c.next.Attempt++
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
					return answer{done: true}
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
			return c.as(storetest.OpClaim)
		}
		return c.pass()
	})
}

func showsSeenIfAbsent(c call) record {
	if c.held.Key == "" {
		return c.seen
	}
	return c.held
}

// acceptsItsSeal takes a completion for one that has happened if the held record has its seal.
func acceptsItsSeal(m methods) inject {
	return m.after(func(c call, a *answer) {
		a.done = a.done || a.err == nil && a.held.Seal != "" && a.held.Seal == c.next.Seal
	})
}

// leftoverFaults keep what a field had if it becomes zero.
func leftoverFaults() faults {
	var all []fault
	for _, name := range []string{"Fingerprint", "Seal", "Attempt", "CreatedAt", "Reason", "Result"} {
		all = append(all, fault{"Swap does not clear " + name, swaps.before(func(c *call) {
			if next := reflect.ValueOf(&c.next).Elem().FieldByName(name); next.IsZero() {
				next.Set(reflect.ValueOf(c.held).FieldByName(name))
			}
		})})
	}
	return faults{"Swap/clears the fields that become zero": all}
}
