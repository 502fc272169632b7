package storetest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func deleteFaults() faults {
	return faults{
		"Delete/lets the next claim start afresh": {
			{"Delete removes any record", deletes.before(func(c *call) { c.Seen = c.held })},
		},
		"Delete/removes a record that was swapped, as it is now": {
			{"Delete only says that it did", deletes.instead(func(c call) answer {
				return answer{Done: c.held.Owner == c.Seen.Owner && c.held.Lease.Equal(c.Seen.Lease)}
			})},
		},
		"Delete/of a key without a record is false": {
			{"Delete of nothing is true", deletes.after(func(c call, a *answer) {
				a.Done = a.Done || c.held.Key == ""
			})},
		},
		"Claim/writes the record if the held one was deleted": {
			{"Delete leaves a mark", all(
				deletes.before(func(c *call) { c.notes[c.Key] = c.Seen }),
				claims.instead(func(c call) answer {
					if mark, found := c.notes[c.Key]; found {
						return answer{Held: mark}
					}
					return c.pass()
				}),
			)},
		},
	}
}

func getFaults() faults {
	// keysAs holds records under other keys than their own.
	keysAs := func(change func(string) string) inject {
		return all(
			slices.Concat(claims, swaps, deletes).before(func(c *call) {
				c.Seen.Key, c.Next.Key = change(c.Key), change(c.Key)
			}),
			gets.instead(func(c call) answer {
				key := c.Key
				c.Key = change(key)
				a := c.pass()
				if a.Done {
					a.Held.Key = key
				}
				return a
			}),
		)
	}
	return faults{
		"Get/finds nothing under a key that was never claimed": {
			{"Get finds a record under any key", gets.after(func(_ call, a *answer) { a.Done = true })},
			{"Get returns the key of a record that is not there", gets.after(func(c call, a *answer) { a.Held.Key = c.Key })},
		},
		"Get/changes nothing": {
			{"Get removes what it reads", gets.after(func(c call, _ *answer) { c.drop() })},
		},
		"Get/keeps keys apart that resemble each other": {
			{"ignores the case of keys", keysAs(strings.ToLower)},
			{"cuts keys at the second #", keysAs(func(key string) string {
				return strings.Join(strings.SplitN(key, "#", 3)[:2], "#")
			})},
			{"names parts by the first half of the key", partsNamed(func(key, _ string, _ []byte) string { return key[:20] })},
		},
		"Get/keeps long keys apart that differ at their end": {
			{"cuts long keys", keysAs(func(key string) string { return key[:min(len(key), 128)] })},
		},
	}
}

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
				a = answer{Err: &store.Error{Op: "write", Kind: store.FailureTimeout, NotApplied: true, Err: ended}}
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
				if a.Err != nil {
					a.Err = &store.UnreadableError{Reason: "the part is missing", Err: a.Err}
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

func claimFaults() faults {
	// over removes the held record where it is so, and then claims.
	over := func(where ...condition) inject {
		return claims.before(func(c *call) {
			if c.meets(where) {
				c.drop()
			}
		})
	}
	// never refuses the claim where it is so.
	never := func(where ...condition) inject {
		return claims.instead(func(c call) answer {
			if c.held.Key != "" && c.meets(where) {
				return answer{Held: c.held}
			}
			return c.pass()
		})
	}
	// drops removes records of other keys that a claim finds to be over.
	drops := func(over func(r record, now time.Time) bool) inject {
		return claims.before(func(c *call) {
			c.notes[c.Key] = c.Next
			for key := range c.notes {
				other := *c
				other.Key = key
				other.held = other.holds()
				if key != c.Key && over(other.held, c.Now) {
					other.drop()
				}
			}
		})
	}
	at := func(change func(time.Time) time.Time) inject {
		return claims.before(func(c *call) { c.Now = change(c.Now) })
	}
	late := func(by time.Duration) inject { return at(func(now time.Time) time.Time { return now.Add(-by) }) }
	return faults{
		"Claim/of a record in progress whose lease is live goes by its expiry": {
			{"claims over any record", over()},
			{"claims over a record in progress whose expiry has come", over(running, expired)},
		},
		"Claim/of a record in progress whose lease ended long ago goes by its expiry": {
			{"claims over a record in progress whose lease has ended", over(running, leased, leaseOver)},
		},
		"Claim/of a record in progress whose lease has just ended goes by its expiry": {
			{"keeps a crashed record for ever", never(running, leased)},
		},
		"Claim/of a record in progress whose lease ends in a millisecond goes by its expiry": {
			{"ends a lease a millisecond early", over(expired, func(c call) bool {
				return !c.Now.Add(time.Millisecond).Before(c.held.Lease)
			})},
		},
		"Claim/of a record in progress without a lease goes by its expiry": {
			{"claims over a record in progress without a lease", over(running, unleased)},
			{"keeps a record in progress without a lease for ever", never(running, unleased)},
		},
		"Claim/of a record in progress of AWS Powertools whose lease is live goes by its expiry": {
			{"claims over a record without an owner", over(ownerless)},
			{"claims over a record without an owner whose expiry has come", over(ownerless, expired)},
		},
		"Claim/of an UNKNOWN record whose lease is live goes by its expiry": {
			{"claims over an UNKNOWN record", over(unknown)},
			{"claims over an UNKNOWN record before its expiry has come", over(unknown, func(c call) bool {
				return !c.Now.Add(time.Millisecond).Before(c.held.Expiry)
			})},
			{"keeps an UNKNOWN record for ever", never(unknown)},
		},
		"Claim/of a completed record whose lease is live goes by its expiry": {
			{"lets the lease of a completed record count", never(completed, func(c call) bool {
				return c.held.Lease.After(c.held.Expiry)
			})},
		},
		"Claim/of a completed record whose lease ended long ago goes by its expiry": {
			{"claims over a completed record whose lease has ended", over(completed, leaseOver)},
			{"lets records expire a second early", late(-time.Second)},
			{"lets records expire only after their expiry", late(time.Nanosecond)},
			{"rounds now up to the second", at(func(now time.Time) time.Time {
				return now.Add(time.Second - 1).Truncate(time.Second)
			})},
		},
		"Claim/repeated by its own owner is refused with its own record": {
			{"grants a claim to the owner that has it", claims.after(func(c call, a *answer) {
				a.Done = a.Done || a.Held.Owner == c.Next.Owner
			})},
		},
		"Claim/replaces the held record completely": {
			{"keeps what the claimed record had", claims.before(func(c *call) {
				if c.Next.Fingerprint == "" {
					c.Next.Fingerprint = c.held.Fingerprint
				}
			})},
			{"keeps the lease of the claimed record", claims.before(func(c *call) {
				if c.Next.Lease.IsZero() {
					c.Next.Lease = c.held.Lease
				}
			})},
		},
		"Claim/of another key drops no record before its expiry has passed": {
			{"drops records whose lease has ended", drops(func(r record, now time.Time) bool {
				return now.After(r.Lease)
			})},
			{"drops UNKNOWN records in the instant of their expiry", drops(func(r record, now time.Time) bool {
				return r.Status == store.StatusUnknown && !now.Before(r.Expiry)
			})},
			{"drops records of other keys that are claimable", drops(record.Claimable)},
		},
		"Claim/is refused with the record as it is now": {
			{"claims over a completed record that has not expired", over(completed)},
			{"refuses a claim without saying why", claims.refusing(func(call) record { return record{} })},
			{"refuses a claim with the claim", claims.refusing(func(c call) record { return c.Next })},
			{"refuses a claim without the result", claims.refusing(func(c call) record {
				c.held.Result = nil
				return c.held
			})},
			{"refuses a claim with what was held first", claims.after(func(c call, a *answer) {
				if a.Done {
					c.notes[c.Key] = c.Next
				} else {
					a.Held = c.notes[c.Key]
				}
			})},
		},
	}
}
