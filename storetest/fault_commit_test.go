package storetest_test

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
)

// halfFaults are stores of which one half of a commit is missing.
func halfFaults() faults {
	// writes commits other ones than it was told to.
	writes := func(change func(w rows.Writes) rows.Writes) inject {
		return commits.before(func(c *call) { c.rows = change(c.rows) })
	}
	// upTo commits the first writes, as many as there may be of them.
	upTo := func(count func(all int) int) inject {
		return writes(func(w rows.Writes) rows.Writes { return w[:count(len(w))] })
	}
	return faults{
		"Commit/Swap completes a record": {
			{"Commit applies no writes", upTo(func(int) int { return 0 })},
			{"Commit applies the first write only", upTo(func(all int) int { return min(1, all) })},
			{"Commit applies all writes but the last", upTo(func(all int) int { return max(0, all-1) })},
			{"Commit applies each write twice", writes(func(w rows.Writes) rows.Writes { return slices.Concat(w, w) })},
			{"Commit completes no record", commits.instead(func(c call) answer { return c.as(calls.Apply) })},
		},
		"Commit/applies many writes": {
			{"Commit applies at most 25 writes", upTo(func(all int) int { return min(25, all) })},
		},
		"Commit/adds to rows that are there": {
			{"Commit takes every write for one of a new row", commits.before(func(c *call) { c.conditions(true) })},
		},
		"Commit/without writes completes a record": {{"Commit wants a write", wantsWrite(commits)}},
	}
}

// wantsWrite refuses a call without writes.
func wantsWrite(m methods) inject {
	return m.instead(func(c call) answer {
		if len(c.rows) == 0 {
			return answer{Err: rejected(c.Op, errors.New("there is no write"))}
		}
		return c.pass()
	})
}

// refusedCommitFaults are stores that do something although the record refuses, or say something
// else.
func refusedCommitFaults() faults {
	return faults{
		"Commit/Swap by an owner that was taken over is refused with the record of the new owner": {
			{"Commit applies the writes of a stale owner", commits.after(func(c call, a *answer) {
				if a.Err == nil && !a.Done {
					c.as(calls.Apply)
				}
			})},
			{"Commit refuses without saying why", commits.refusing(func(call) record { return record{} })},
			{"Commit looks at its writes before the record", commits.instead(func(c call) answer {
				if c.Refuses(c.rows) {
					return answer{Err: rejected(c.Op, store.ErrWritesRefused)}
				}
				return c.pass()
			})},
		},
		"Commit/Swap of a key without a record is refused with a zero record, and writes nothing": {
			{"Commit inserts a record that is gone", insertsAbsent(commits)},
			{"Commit applies the writes although the record is gone", commits.instead(func(c call) answer {
				if c.held.Key == "" {
					return answer{Err: c.as(calls.Apply).Err}
				}
				return c.pass()
			})},
			{"Commit of an absent record reports what was seen", commits.refusing(showsSeenIfAbsent)},
		},
		"Commit/Swap by an owner whose lease was renewed since is refused": {
			{"Commit adopts a later lease", commits.before(func(c *call) {
				if c.held.Owner == c.Seen.Owner && c.held.Status == c.Seen.Status {
					c.Seen.Lease = c.held.Lease
				}
			})},
		},
		"Commit/Swap by an owner that has completed is refused": {
			{"Commit completes what was completed", commits.before(func(c *call) {
				if c.held.Owner == c.Seen.Owner {
					c.Seen.Status = c.held.Status
				}
			})},
			{"Commit takes each commit of one owner for a repeated one", commits.after(func(c call, a *answer) {
				a.Done = a.Done || a.Held.Owner == c.Next.Owner && a.Held.Status == store.StatusCompleted
			})},
		},
		"Commit/refuses writes of another kind, and does nothing": {
			{"Commit ignores writes of another kind", ignoresStrange(commits)},
			{"Apply ignores writes of another kind", ignoresStrange(applies)},
		},
	}
}

// ignoresStrange takes writes of another kind for none.
func ignoresStrange(m methods) inject { return m.before(func(c *call) { c.strange = false }) }

// declinedFaults are stores that do something although a write refuses, or do not say so.
func declinedFaults() faults {
	// declines does something else if a write refuses.
	declines := func(instead func(c call, a *answer)) inject {
		return commits.after(func(c call, a *answer) {
			if errors.Is(a.Err, store.ErrWritesRefused) {
				c.Token = "another"
				instead(c, a)
			}
		})
	}
	return faults{
		"Commit/whose write refuses does nothing, wherever that stands": {
			{"Commit completes although a write refuses", declines(func(c call, _ *answer) { c.as(calls.Swap) })},
			{"Commit ignores a write that refuses", declines(func(c call, a *answer) {
				c.rows = slices.DeleteFunc(c.rows, func(r rows.Write) bool { return c.Refuses(rows.Writes{r}) })
				*a = c.pass()
			})},
			{"Commit applies the writes before the one that refuses", declines(func(c call, _ *answer) { c.oneByOne() })},
			{"Commit applies the writes behind the one that refuses", declines(func(c call, _ *answer) {
				c.rows = c.rows[len(c.rows)-1:]
				c.as(calls.Apply)
			})},
			{"Commit writes over what refuses", declines(func(c call, a *answer) {
				c.conditions(false)
				*a = c.pass()
			})},
			{"Commit takes a write that refuses for a record that does", declines(func(c call, a *answer) {
				*a = answer{Held: c.held}
			})},
			{"Commit does not say why it failed", declines(func(c call, a *answer) {
				a.Err = rejected(c.Op, errors.New("the transaction was cancelled"))
			})},
		},
		"Commit/several of whose writes refuse does nothing": {
			{"Commit looks at the first write that might refuse", declines(func(c call, a *answer) {
				if len(c.rows) > 1 && len(c.rows[0].If) > 0 && len(c.rows[1].If) > 0 {
					c.rows = nil
					*a = c.pass()
				}
			})},
		},
		"Commit/whose write refuses leaves steps and results alone": {
			{"Commit drops the steps although a write refuses", declines(func(c call, _ *answer) {
				c.drop()
				c.Next = c.held
				c.Next.Steps, c.Next.StepWrites = nil, 0
				c.as(calls.Claim)
			})},
		},
		"Commit/whose write refuses leaves the record to its owner": {
			{"Commit ends the lease although a write refuses", declines(func(c call, _ *answer) {
				c.Seen, c.Next = c.held, c.held
				c.Next.Owner = ""
				c.as(calls.Swap)
			})},
			{"Commit releases the record when a write refuses", declines(func(c call, _ *answer) { c.drop() })},
		},
	}
}

// oneByOne applies the writes, each in a transaction of its own, as far as none refuses.
func (c call) oneByOne() (a answer) {
	a.Done = true
	for _, r := range c.rows {
		c.rows = rows.Writes{r}
		if a = c.as(calls.Apply); a.Err != nil {
			break
		}
	}
	return a
}

// tokenFaults are stores that do something else with a token that they know.
func tokenFaults() faults {
	repeated := func(instead func(c call) answer) inject {
		return commits.instead(func(c call) answer {
			if _, known := c.notes[c.Token]; known {
				return instead(c)
			}
			a := c.pass()
			if a.Done {
				c.notes[c.Token] = c.Next
			}
			return a
		})
	}
	return faults{
		"Commit/repeated with its token writes nothing again": {
			{"Commit applies repeated writes", repeated(func(c call) answer {
				c.conditions(false)
				return c.as(calls.Apply)
			})},
			{"Commit takes its own rows for somebody else's", repeated(func(c call) answer {
				return answer{Done: true, Err: c.as(calls.Apply).Err}
			})},
			{"Commit refuses a token that it knows", repeated(func(c call) answer {
				return answer{Err: rejected(c.Op, errors.New("the token was used before"))}
			})},
			{"Commit refuses a repeated call without saying why", repeated(func(call) answer { return answer{} })},
		},
		"Commit/Swap repeated is refused with its own record": {
			{"Commit tells by its rows that it has happened", acceptsItsSeal(commits)},
		},
		"Commit/repeated after its record is gone writes nothing again": {
			{"Commit writes a record that is gone for a token that it knows", repeated(func(c call) answer {
				return answer{Done: true, Err: c.as(calls.Claim).Err}
			})},
		},
	}
}

// commitRecordFaults are stores that complete a record otherwise than they were told to.
func commitRecordFaults() faults {
	otherwise := func(change func(next *record)) inject {
		return commits.before(func(c *call) { change(&c.Next) })
	}
	return faults{
		"Commit/Swap completes a record": {
			{"Commit cuts the seal to that of a completion", otherwise(func(next *record) {
				next.Seal = store.Seal(next.Owner, next.Result)
			})},
			{"Commit leaves the record in progress", otherwise(func(next *record) {
				next.Status = store.StatusInProgress
			})},
		},
		"Commit/Swap keeps the held lease if next has none": {
			{"Commit clears the lease if next has none", otherwise(func(next *record) { next.Lease = since1970(next.Lease) })},
		},
		"Commit/Layout text comes back as it was spelled": {
			{"Commit drops the layout", otherwise(func(next *record) { next.Layout = "" })},
		},
		"Commit/Result comes back as it was spelled": {
			{"Commit trims results", otherwise(func(next *record) { next.Result = bytes.TrimSpace(next.Result) })},
		},
		"Commit/Result of 1048577 bytes comes back byte for byte": {
			{"Commit cuts large results", otherwise(func(next *record) {
				next.Result = next.Result[:min(len(next.Result), 1<<20)]
			})},
		},
		"Commit/Parts are replaced by a Swap": {
			{"Commit keeps the parts of the record seen", commits.before(func(c *call) {
				if c.Seen.Parts != "" {
					c.Next.Parts, c.Next.Result = c.Seen.Parts, nil
				}
			})},
		},
		"Commit/Parts written by a refused Swap do not change the held result": {
			// The parts are written before it is known whether the record refuses.
			{"Commit names parts by their key", partsNamed(byKey)},
		},
	}
}

// applyFaults are stores that apply writes alone otherwise than they were told to.
func applyFaults() faults {
	return faults{
		"Commit/alone applies the writes": {
			{"Apply applies nothing", applies.instead(func(call) answer { return answer{} })},
			{"Apply applies the first write", applies.before(func(c *call) { c.rows = c.rows[:min(1, len(c.rows))] })},
		},
		"Commit/alone without writes does nothing": {{"Apply wants a write", wantsWrite(applies)}},
		"Commit/alone with a write that refuses does nothing": {
			{"Apply is no transaction", applies.instead(call.oneByOne)},
			{"Apply does not say that a write refuses", applies.after(func(_ call, a *answer) {
				if errors.Is(a.Err, store.ErrWritesRefused) {
					a.Err = nil
				}
			})},
		},
	}
}
