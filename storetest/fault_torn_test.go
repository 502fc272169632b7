package storetest_test

import (
	"context"
	"runtime"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/calls"
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
