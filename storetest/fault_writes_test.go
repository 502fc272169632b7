package storetest_test

import (
	"context"
	"reflect"
	"runtime"
	"time"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// tornFaults are stores that answer rightly as long as calls come one after the other.
func tornFaults() faults {
	race := func(of string) string { return "Race/of " + of + " has one winner" }
	return faults{
		race("claims for one key"):             {{"Claim reads and then writes", tornClaim()}},
		race("claims over one expired record"): {{"Claim over an expired record reads and then writes", tornClaim()}},
		race("takeovers of one crashed record"): {
			{"Swap reads and then writes", tornSwap()},
		},
		race("takeovers of one record without an owner"): {
			{"Swap of a record without an owner reads and then writes", tornSwap()},
		},
		race("a completion and takeovers"): {{"Swap of a completion reads and then writes", tornSwap()}},
		race("start marks of one step"):    {{"start marks that read and then write", tornSwap()}},
		race("a step and releases"):        {{"a release that reads and then writes beside a step", tornDelete()}},
		race("releases"):                   {{"Delete reads and then writes", tornDelete()}},
		race("releases and takeovers"):     {{"Delete of what was taken over reads and then writes", tornDelete()}},
		"History/of concurrent calls is linearizable": {
			{"a history of torn claims", tornClaim()},
			{"a history of torn swaps", tornSwap()},
			{"a history of torn deletes", tornDelete()},
			{"Swap lets go of the record for a moment", swapsAs(func(c call, whole record) answer {
				if !c.as(calls.Delete).Done {
					return answer{Held: c.held}
				}
				pause()
				c.Next = whole
				return c.as(calls.Claim)
			})},
			{"acknowledges a Swap before it is applied", swapsAs(func(c call, _ record) answer {
				c.ctx = context.WithoutCancel(c.ctx)
				time.AfterFunc(10*time.Microsecond, func() { c.pass() })
				return answer{Done: true}
			})},
		},
		"Goroutines/end with the calls that started them": {
			{"leaves a goroutine behind", gets.before(func(c *call) {
				ctx := c.ctx
				go func() { <-ctx.Done() }()
			})},
		},
	}
}

// tornCommitFaults are stores whose commits are right as long as calls come one after the other.
func tornCommitFaults() faults {
	race := func(of string) string { return "Commit/Race of " + of + " has one winner" }
	return faults{
		race("completions of one owner"): {
			{"Commit reads and then writes", tornCommit()},
			{"Commit writes the rows first", rowsFirst()},
		},
		race("completions with large results"): {
			{"Commit of a large result reads and then writes", tornCommit()},
		},
		race("completions and takeovers"): {{"Commit lets a takeover in between", tornCommit()}},
		race("completions and others without writes"): {
			{"Commit lets a completion in between", tornCommit()},
		},
		race("completions and releases"):  {{"Commit lets a release in between", tornCommit()}},
		race("completions and a renewal"): {{"Commit lets a renewal in between", tornCommit()}},
		"Commit/History of concurrent calls is linearizable": {
			{"a history of torn commits", tornCommit()},
			{"a history of rows that come first", rowsFirst()},
		},
		"Commit/Sequence of calls is answered as a register answers it": {
			{"Commit loses every other write of rows", commits.instead(func(c call) answer {
				if c.count++; c.count%2 == 0 {
					return c.as(calls.Swap)
				}
				return c.pass()
			})},
		},
	}
}

// pause lets other goroutines in between the two halves of a torn call.
func pause() {
	runtime.Gosched()
	time.Sleep(100 * time.Microsecond)
}

// pausing has calls come after the first half of a torn one.
func pausing(m methods) inject { return m.before(func(*call) { pause() }) }

func tornClaim() inject {
	return torn(claims.instead(func(c call) answer {
		if c.held.Key != "" && !c.held.Claimable(c.Now) {
			return answer{Held: c.held}
		}
		pause()
		return c.overwrite(c.Next)
	}))
}

func tornSwap() inject {
	return swapsAs(func(c call, whole record) answer {
		pause()
		return c.overwrite(whole)
	})
}

// swapsAs does something else instead of a swap that should be done, of which whole is the record.
func swapsAs(instead func(c call, whole record) answer) inject {
	return torn(swaps.instead(func(c call) answer {
		whole, ok := c.swapped()
		if !ok {
			return answer{Held: c.held}
		}
		a := instead(c, whole)
		if a.Done && handsOver(c) {
			a.Held = whole
		}
		return a
	}))
}

func tornDelete() inject {
	return torn(pausing(swaps), deletes.instead(func(c call) answer {
		if c.held.Key == "" || !c.held.Matches(c.Seen) {
			return answer{}
		}
		pause()
		c.held = c.holds()
		c.drop()
		return answer{Done: true}
	}))
}

func tornCommit() inject {
	return torn(pausing(swaps), pausing(deletes), commits.instead(func(c call) answer {
		whole, ok := c.swapped()
		if !ok || c.strange || c.Refuses(c.rows) {
			return c.pass()
		}
		pause()
		pause()
		if a := c.overwrite(whole); a.Err != nil {
			return a
		}
		return answer{Done: true, Err: c.as(calls.Apply).Err}
	}))
}

// rowsFirst applies the writes, and takes them for done although the record refuses then.
func rowsFirst() inject {
	return torn(commits.instead(func(c call) answer {
		if _, ok := c.swapped(); !ok || c.strange {
			return c.pass()
		}
		if a := c.as(calls.Apply); a.Err != nil {
			return answer{Err: a.Err}
		}
		pause()
		c.rows = nil
		return c.pass()
	}))
}

// overwrite writes r over whatever is held.
func (c call) overwrite(r record) answer {
	c.Next, c.Now = r, time.Time{}
	for {
		a := c.as(calls.Claim)
		if a.Done || a.Err != nil {
			return answer{Done: a.Done, Err: a.Err}
		}
		c.held = a.Held
		c.drop()
	}
}

// swapped returns the record that a Swap makes of the held one, or that it refuses.
func (c call) swapped() (record, bool) {
	next, held := c.Next, c.held
	steps, writes, ok := held.Merged(next)
	if !ok || held.Key == "" || !held.Matches(c.Seen) || held.Shortens(next) {
		return record{}, false
	}
	next.Steps, next.StepWrites = steps, writes
	if next.Lease.IsZero() {
		next.Lease = held.Lease
	}
	return next, true
}

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
