package storetest_test

import (
	"context"
	"slices"
	"strings"
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
