package explore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
)

// unfenced is a fault of fences: a Swap that does nothing but move the lease of its owner a little
// moves nothing.
var unfenced = alters(opSwap, func(h store.Record, c *call) {
	next := c.Next
	if c.Seen.Owner == next.Owner && next.Status == store.StatusInProgress && len(next.Steps) == 0 &&
		next.Lease.Sub(next.Lease.Truncate(time.Second)) > 0 {
		c.Next.Lease = h.Lease
	}
})

// TestEveryGuardOfACommitInAStoreIsMissed takes out one guard after the other and expects the
// search to find a schedule that breaks an invariant.
func TestEveryGuardOfACommitInAStoreIsMissed(t *testing.T) {
	ctx := context.Background()
	const stale, twice, gate = "commit: three deliveries, stale owners", "commit: two deliveries, each sent twice",
		"commit: a gate for two"
	// answered is a fault of what a commit returns.
	answered := func(as func(s store.Store, c call, got *reply)) fault {
		return instead(opCommit, func(s store.Store, _ store.Record, c call) reply {
			got := c.Make(ctx, s)
			as(s, c, &got)
			return got
		})
	}
	requireMissed(t, map[string]missing{
		"a commit does not compare the owner": {
			stale, "I5 a stale owner changes nothing", alters(opCommit, func(h store.Record, c *call) {
				if h.Status == store.StatusInProgress {
					c.Seen = h
				}
			}),
		},
		"a commit does not compare the status": {
			"commit: refuse", "who does not own the record", alters(opCommit, func(h store.Record, c *call) {
				if h.Owner == c.Seen.Owner && h.Status == store.StatusUnknown {
					c.Seen = h
				}
			}),
		},
		"a commit does not compare the lease": {
			gate, "I9 what a commit says",
			alters(opCommit, func(_ store.Record, c *call) { c.Seen.Lease = time.Time{} }),
		},
		"a fence moves nothing": {gate, "I9 what a commit says", unfenced},
		"the writes come before the record": {
			stale, "I5 a stale owner changes nothing",
			instead(opCommit, func(s store.Store, _ store.Record, c call) reply {
				if err := s.(*rows.Table).Apply(ctx, c.Writes, ""); err != nil {
					return reply{Err: err}
				}
				c.Op = opSwap
				return c.Make(ctx, s)
			}),
		},
		"the record comes without the writes": {
			twice, "without its rows", alters(opCommit, func(_ store.Record, c *call) { c.Op = opSwap }),
		},
		"the record comes although the writes are refused": {
			gate, "without its rows", answered(func(s store.Store, c call, got *reply) {
				if errors.Is(got.Err, store.ErrWritesRefused) {
					c.Op = opSwap
					*got = c.Make(ctx, s)
				}
			}),
		},
		"the writes are forgotten in the seal": {
			twice, "without its answer", alters(opCommit, func(_ store.Record, c *call) {
				c.Next.Seal = store.Seal(c.Next.Owner, c.Next.Result)
			}),
		},
		"another answer is stored": {
			twice, `with the answer "5 by nobody"`,
			alters(opCommit, func(_ store.Record, c *call) {
				c.Next.Result = []byte(`{"by":"nobody","amount":5}`)
			}),
		},
		"a token is known that was not applied": {
			"commit: one fault", "I9 what a commit says", answered(func(_ store.Store, c call, got *reply) {
				if got.Err == nil && !got.Done && got.Held.Owner != c.Seen.Owner {
					*got = reply{Done: true}
				}
			}),
		},
		"a refusal is told of a commit that was applied": {
			gate, "I9 what a commit says", answered(func(_ store.Store, _ call, got *reply) {
				if got.Done {
					*got = reply{Err: &store.Error{
						Op: "commit", Kind: store.FailureRejected, NotApplied: true,
						Err: store.ErrWritesRefused,
					}}
				}
			}),
		},
		"the fence of a commit that failed moves nothing": {
			"commit: a fault, and one of the settlement", "I9 what a commit says", unfenced,
		},
		"a release deletes what was committed": {
			"commit: a gate that opens", "I2", alters(opDelete, func(h store.Record, c *call) {
				if h.Owner == c.Seen.Owner {
					c.Seen = h
				}
			}),
		},
		"steps stay": {
			"commit: after steps", "I9 a commit is not given up",
			instead(opCommit, func(s store.Store, h store.Record, c call) reply {
				if h.Status == store.StatusInProgress && len(h.Steps) == 0 {
					return c.Make(ctx, s)
				}
				return reply{Err: &store.Error{Op: "commit", Kind: store.FailureThrottled, NotApplied: true}}
			}),
		},
	})
}

// boxFault makes the calls of a box of which one guard was taken out.
type boxFault func(o *outbox, c boxCall) boxReply

// insteadIn is a fault of the calls of one method. It knows the message of the call, as it is.
func insteadIn(op boxOp, do func(o *outbox, m entry, c boxCall) boxReply) boxFault {
	return func(o *outbox, c boxCall) boxReply {
		if c.Op != op {
			return o.answer(c)
		}
		return do(o, o.messages[c.Entry.ID], c)
	}
}

// altersIn makes another call of those of one method.
func altersIn(op boxOp, as func(m entry, c *boxCall)) boxFault {
	return insteadIn(op, func(o *outbox, m entry, c boxCall) boxReply {
		as(m, &c)
		return o.answer(c)
	})
}

// TestEveryGuardOfMessagesIsMissed takes out one guard after the other and expects the search to
// find a schedule that breaks a rule.
func TestEveryGuardOfMessagesIsMissed(t *testing.T) {
	const again, beside = "another commit after the expiry", "another commit beside a drain"
	const delivered, changes = "only a message that was delivered is done", "changes no message of another commit"
	const arrives, reason = "a message that has left arrives", "given up for a reason"
	// Each failure that is counted changes the message in another way.
	failureDoes := func(op boxOp) boxFault {
		return insteadIn(boxFailed, func(o *outbox, _ entry, c boxCall) boxReply {
			c.Op = op
			got := o.answer(c)
			got.Tries = c.Entry.Tries + 1
			return got
		})
	}
	anybodys := func(m entry, c *boxCall) { c.Entry.Owner = m.Owner }
	for name, c := range map[string]struct {
		scenario, breaks string
		fault            boxFault
	}{
		"a look shows what no commit has put": {
			"crashes of a handler", "that no commit has put",
			func(o *outbox, c boxCall) boxReply {
				got := o.answer(c)
				got.Entry.Owner = "another one"
				got.Done = got.Done || c.Op == boxTake
				return got
			},
		},
		"a mark does not compare the owner":                 {again, delivered, altersIn(boxDone, anybodys)},
		"a count does not compare the owner":                {again, changes, altersIn(boxFailed, anybodys)},
		"a message is given up without a look at the owner": {again, changes, altersIn(boxGiveUp, anybodys)},
		"a message is taken without a look at the owner": {
			beside, changes, altersIn(boxTake, func(m entry, c *boxCall) {
				c.Entry.Owner, c.Entry.Due = m.Owner, m.Due
			}),
		},
		"a delivery that fails marks": {"a stream", delivered, failureDoes(boxDone)},
		"a mark comes before the delivery": {
			"two drains", delivered, altersIn(boxTake, func(_ entry, c *boxCall) { c.Op = boxDone }),
		},
		"a look marks": {
			"a drain beside a stream", "I10", insteadIn(boxGet, func(o *outbox, m entry, c boxCall) boxReply {
				got := o.answer(c)
				o.answer(boxCall{Op: boxDone, Entry: m, At: m.Due})
				return got
			}),
		},
		"a count does not look whether the message is done": {
			"two relays", "was done and is pending again",
			insteadIn(boxFailed, func(o *outbox, m entry, c boxCall) boxReply {
				if !pending(m) {
					o.put(entry{ID: m.ID, Owner: m.Owner, Due: c.At})
					return boxReply{Tries: 1, Done: true}
				}
				return o.answer(c)
			}),
		},
		"a message is given up by a failure before it was redriven": {
			"redriven", reason, altersIn(boxGiveUp, func(_ entry, c *boxCall) { c.Entry.Tries = 0 }),
		},
		"a delivery that fails gives up": {"a stream", reason, failureDoes(boxGiveUp)},
		"a message that is given up is taken": {
			"a message that is given up beside a drain", "leaves alone what is given up",
			altersIn(boxTake, func(m entry, c *boxCall) {
				if m.GivenUp && m.Owner == c.Entry.Owner && m.Due.Equal(c.Entry.Due) {
					c.Op = boxFailed
				}
			}),
		},
		"a try is counted twice": {
			"two drains", "no more tries are counted", insteadIn(boxTake, func(o *outbox, _ entry, c boxCall) boxReply {
				counted := c
				counted.Op, counted.At = boxFailed, c.Entry.Due
				if got := o.answer(counted); !got.Done {
					return boxReply{Err: got.Err}
				}
				return o.answer(c)
			}),
		},
		"a taken message is never due again": {
			"drains that die", arrives, altersIn(boxTake, func(_ entry, c *boxCall) { c.At = c.At.Add(time.Hour) }),
		},
		"a list leaves out what was tried": {
			"two drains", arrives, insteadIn(boxList, func(o *outbox, _ entry, c boxCall) boxReply {
				got := o.answer(c)
				got.Page = slices.DeleteFunc(got.Page,
					func(listed entry) bool { return o.messages[listed.ID].Tries > 0 })
				return got
			}),
		},
		"a mark marks nothing": {
			"a stream", arrives, insteadIn(boxDone, func(*outbox, entry, boxCall) boxReply {
				return boxReply{Done: true}
			}),
		},
		"a count does not grow": {
			"a stream with faults", "does not repeat a message for ever",
			insteadIn(boxFailed, func(o *outbox, _ entry, c boxCall) boxReply {
				got := o.answer(c)
				got.Tries = 1
				return got
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireBroken(t, "messages: "+c.scenario, c.breaks, func(s *Scenario) { s.PlantBox = c.fault })
		})
	}
}
