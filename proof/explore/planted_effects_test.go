package explore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/rows"
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
			stale, "I5 a stale owner changes nothing",
			alters(opCommit, func(h store.Record, c *call) {
				if h.Status == store.StatusInProgress {
					c.Seen = h
				}
			}),
		},
		"a commit does not compare the status": {
			"commit: refuse", "who does not own the record",
			alters(opCommit, func(h store.Record, c *call) {
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
			twice, "without its rows",
			alters(opCommit, func(_ store.Record, c *call) { c.Op = opSwap }),
		},
		"the record comes although the writes are refused": {
			gate, "without its rows",
			answered(func(s store.Store, c call, got *reply) {
				if errors.Is(got.Err, store.ErrWritesRefused) {
					c.Op = opSwap
					*got = c.Make(ctx, s)
				}
			}),
		},
		"the writes are forgotten in the seal": {
			twice, "without its answer",
			alters(opCommit, func(_ store.Record, c *call) {
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
			"commit: one fault", "I9 what a commit says",
			answered(func(_ store.Store, c call, got *reply) {
				if got.Err == nil && !got.Done && got.Held.Owner != c.Seen.Owner {
					*got = reply{Done: true}
				}
			}),
		},
		"a refusal is told of a commit that was applied": {
			gate, "I9 what a commit says",
			answered(func(_ store.Store, _ call, got *reply) {
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
			"commit: a gate that opens", "I2",
			alters(opDelete, func(h store.Record, c *call) {
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
type boxFault func(t *rows.Table, c rows.BoxCall) rows.BoxReply

// insteadIn is a fault of the calls of one method. It knows the message of the call, as it is.
func insteadIn(op rows.BoxOp, do func(t *rows.Table, m rows.Message, c rows.BoxCall) rows.BoxReply) boxFault {
	return func(t *rows.Table, c rows.BoxCall) rows.BoxReply {
		if c.Op != op {
			return t.Answer(c)
		}
		return do(t, t.Messages[c.Entry.ID], c)
	}
}

// altersIn makes another call of those of one method.
func altersIn(op rows.BoxOp, as func(m rows.Message, c *rows.BoxCall)) boxFault {
	return insteadIn(op, func(t *rows.Table, m rows.Message, c rows.BoxCall) rows.BoxReply {
		as(m, &c)
		return t.Answer(c)
	})
}

// TestEveryGuardOfMessagesIsMissed takes out one guard after the other and expects the search to
// find a schedule that breaks a rule.
func TestEveryGuardOfMessagesIsMissed(t *testing.T) {
	const again, beside = "another commit after the expiry", "another commit beside a drain"
	const delivered, changes = "only a message that was delivered is done", "changes no message of another commit"
	const arrives, reason = "a message that has left arrives", "given up for a reason"
	// Each failure that is counted changes the message in another way.
	failureDoes := func(op rows.BoxOp) boxFault {
		return insteadIn(rows.Failed, func(t *rows.Table, _ rows.Message, c rows.BoxCall) rows.BoxReply {
			c.Op = op
			got := t.Answer(c)
			got.Tries = c.Entry.Tries + 1
			return got
		})
	}
	anybodys := func(m rows.Message, c *rows.BoxCall) { c.Entry.Owner = m.Owner }
	for name, c := range map[string]struct {
		scenario, breaks string
		fault            boxFault
	}{
		"a look shows what no commit has put": {
			"crashes of a handler", "that no commit has put",
			func(t *rows.Table, c rows.BoxCall) rows.BoxReply {
				got := t.Answer(c)
				got.Entry.Owner = "another one"
				got.Done = got.Done || c.Op == rows.Take
				return got
			},
		},
		"a mark does not compare the owner":  {again, delivered, altersIn(rows.Done, anybodys)},
		"a count does not compare the owner": {again, changes, altersIn(rows.Failed, anybodys)},
		"a message is given up without a look at the owner": {
			again, changes, altersIn(rows.GiveUp, anybodys),
		},
		"a message is taken without a look at the owner": {
			beside, changes,
			altersIn(rows.Take, func(m rows.Message, c *rows.BoxCall) {
				c.Entry.Owner, c.Entry.Due = m.Owner, m.Due
			}),
		},
		"a delivery that fails marks": {
			"a stream", delivered, failureDoes(rows.Done),
		},
		"a mark comes before the delivery": {
			"two drains", delivered,
			altersIn(rows.Take, func(_ rows.Message, c *rows.BoxCall) { c.Op = rows.Done }),
		},
		"a look marks": {
			"a drain beside a stream", "I10",
			insteadIn(rows.Read, func(t *rows.Table, m rows.Message, c rows.BoxCall) rows.BoxReply {
				got := t.Answer(c)
				t.Answer(rows.BoxCall{Op: rows.Done, Entry: m, At: m.Due})
				return got
			}),
		},
		"a count does not look whether the message is done": {
			"two relays", "was done and is pending again",
			insteadIn(rows.Failed, func(t *rows.Table, m rows.Message, c rows.BoxCall) rows.BoxReply {
				if !rows.Pending(m) {
					return rows.BoxReply{Tries: 1, Done: revive(t, m, c.At)}
				}
				return t.Answer(c)
			}),
		},
		"a message is given up by a failure before it was redriven": {
			"redriven", reason,
			altersIn(rows.GiveUp, func(_ rows.Message, c *rows.BoxCall) { c.Entry.Tries = 0 }),
		},
		"a delivery that fails gives up": {
			"a stream", reason, failureDoes(rows.GiveUp),
		},
		"a message that is given up is taken": {
			"a message that is given up beside a drain", "leaves alone what is given up",
			altersIn(rows.Take, func(m rows.Message, c *rows.BoxCall) {
				if m.GivenUp && m.Owner == c.Entry.Owner && m.Due.Equal(c.Entry.Due) {
					c.Op = rows.Failed
				}
			}),
		},
		"a try is counted twice": {
			"two drains", "no more tries are counted",
			insteadIn(rows.Take, func(t *rows.Table, _ rows.Message, c rows.BoxCall) rows.BoxReply {
				counted := c
				counted.Op, counted.At = rows.Failed, c.Entry.Due
				if got := t.Answer(counted); !got.Done {
					return rows.BoxReply{Err: got.Err}
				}
				return t.Answer(c)
			}),
		},
		"a taken message is never due again": {
			"drains that die", arrives,
			altersIn(rows.Take, func(_ rows.Message, c *rows.BoxCall) { c.At = c.At.Add(time.Hour) }),
		},
		"a list leaves out what was tried": {
			"two drains", arrives,
			insteadIn(rows.List, func(t *rows.Table, _ rows.Message, c rows.BoxCall) rows.BoxReply {
				got := t.Answer(c)
				got.Page = slices.DeleteFunc(got.Page,
					func(listed rows.Message) bool { return t.Messages[listed.ID].Tries > 0 })
				return got
			}),
		},
		"a mark marks nothing": {
			"a stream", arrives,
			insteadIn(rows.Done, func(*rows.Table, rows.Message, rows.BoxCall) rows.BoxReply {
				return rows.BoxReply{Done: true}
			}),
		},
		"a count does not grow": {
			"a stream with faults", "does not repeat a message for ever",
			insteadIn(rows.Failed, func(t *rows.Table, _ rows.Message, c rows.BoxCall) rows.BoxReply {
				got := t.Answer(c)
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

// revive makes a message pending that is done.
func revive(t *rows.Table, m rows.Message, due time.Time) bool {
	err := t.Apply(context.Background(),
		rows.Writes{{Sends: true, Key: m.ID, Owner: m.Owner, At: due}}, "")
	return err == nil
}
