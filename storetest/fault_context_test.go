package storetest_test

import (
	"context"

	"github.com/go-idempotent/idempotent/store"
)

// contextFaults are stores that ignore their context, and some that then deny what they did.
func contextFaults() faults {
	never := func(m methods) inject {
		return m.before(func(c *call) { c.ctx = context.WithoutCancel(c.ctx) })
	}
	denies := func(m methods) inject {
		return m.instead(func(c call) answer {
			ctx := c.ctx
			c.ctx = context.WithoutCancel(ctx)
			a := c.pass()
			if ended := ctx.Err(); ended != nil {
				a = answer{err: &store.Error{Op: "write", Kind: store.FailureTimeout, NotApplied: true, Err: ended}}
			}
			return a
		})
	}
	cancelled := func(call string) string { return "that was cancelled fails a " + call }
	late := func(call string) string { return "that is past its deadline fails a " + call }
	return faults{
		"Context/" + cancelled("Claim"): {
			{"Claim ignores a cancelled context", never(claims)},
			{"Claim denies what it did", denies(claims)},
		},
		"Context/" + late("Claim"):       {{"Claim ignores a deadline", never(claims)}},
		"Context/" + cancelled("Swap"):   {{"Swap ignores its context", never(swaps)}},
		"Context/" + late("Swap"):        {{"Swap denies what it did", denies(swaps)}},
		"Context/" + cancelled("Delete"): {{"Delete ignores its context", never(deletes)}},
		"Context/" + late("Delete"):      {{"Delete denies what it did", denies(deletes)}},
		"Context/" + cancelled("Get"):    {{"Get ignores its context", never(gets)}},
		"Context/" + cancelled("ReadResult"): {
			{"ReadResult ignores its context", never(reads)},
			{"ReadResult takes a cancelled context for a missing part", reads.after(func(_ call, a *answer) {
				if a.err != nil {
					a.err = &store.UnreadableError{Reason: "the part is missing", Err: a.err}
				}
			})},
		},
		"Commit/Context " + cancelled("completion"): {
			{"Commit ignores its context", never(commits)},
			{"Apply ignores its context", never(applies)},
		},
		"Commit/Context " + late("completion"): {
			{"Commit denies what it did", denies(commits)},
			{"Apply denies what it did", denies(applies)},
		},
	}
}
