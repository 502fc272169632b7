package explore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
)

// boxFault makes the calls of a box of which one guard was taken out.
type boxFault func(t *rows.Table, c calls.BoxCall) calls.BoxReply

// insteadIn is a fault of the calls of one method. It knows the message of the call, as it is.
func insteadIn(op calls.BoxOp, do func(t *rows.Table, m rows.Message, c calls.BoxCall) calls.BoxReply) boxFault {
	return func(t *rows.Table, c calls.BoxCall) calls.BoxReply {
		if c.Op != op {
			return made(t, c)
		}
		return do(t, t.Messages()[c.ID], c)
	}
}

// altersIn makes another call of those of one method.
func altersIn(op calls.BoxOp, as func(m rows.Message, c *calls.BoxCall)) boxFault {
	return insteadIn(op, func(t *rows.Table, m rows.Message, c calls.BoxCall) calls.BoxReply {
		as(m, &c)
		return made(t, c)
	})
}

func made(t *rows.Table, c calls.BoxCall) calls.BoxReply {
	return c.Make(context.Background(), t.Box())
}

// plantedOutbox is a table with such a box. With ghosts its stream also shows the messages of
// commits that were refused.
type plantedOutbox struct {
	*rows.Table

	fault  boxFault
	ghosts *[]rows.Message
}

func (p plantedOutbox) Box() relay.Box[rows.Row] {
	return calls.Box(func(_ context.Context, c calls.BoxCall) calls.BoxReply { return p.fault(p.Table, c) })
}

func (p plantedOutbox) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	held, committed, err := p.Table.Commit(ctx, seen, next, writes, token)
	if !committed && p.ghosts != nil {
		for _, one := range writes.(rows.Writes) {
			*p.ghosts = append(*p.ghosts, rows.Message{ID: one.Key, Owner: one.Owner, Created: one.At, Due: one.At})
		}
	}
	return held, committed, err
}

func (p plantedOutbox) Images() []rows.Message {
	images := p.Table.Images()
	if p.ghosts != nil {
		images = append(images, *p.ghosts...)
	}
	return images
}

// TestEveryGuardOfMessagesIsMissed takes out one guard after the other and expects the search to
// find a schedule that breaks a rule.
func TestEveryGuardOfMessagesIsMissed(t *testing.T) {
	const again, beside = "another commit after the expiry", "another commit beside a drain"
	const delivered, changes = "only a message that was delivered is done", "changes no message of another commit"
	const arrives, reason = "a message that has left arrives", "given up for a reason"
	anybodys := func(m rows.Message, c *calls.BoxCall) { c.Entry.Owner = m.Owner }
	for name, c := range map[string]struct {
		scenario, breaks string
		fault            boxFault
	}{
		"a message leaves although its commit is refused": {"crashes of a handler", "that no commit has put", made},
		"a mark does not compare the owner":               {again, delivered, altersIn(calls.Done, anybodys)},
		"a count does not compare the owner":              {again, changes, altersIn(calls.Failed, anybodys)},
		"a message is given up without a look at the owner": {
			again, changes, altersIn(calls.GiveUp, anybodys),
		},
		"a message is taken without a look at the owner": {
			beside, changes,
			altersIn(calls.Take, func(m rows.Message, c *calls.BoxCall) {
				c.Entry.Owner, c.Entry.Due = m.Owner, m.Due
			}),
		},
		"a delivery that fails marks": {
			"a stream", delivered,
			insteadIn(calls.Failed, func(t *rows.Table, _ rows.Message, c calls.BoxCall) calls.BoxReply {
				c.Op = calls.Done
				got := made(t, c)
				got.Tries = c.Entry.Tries + 1
				return got
			}),
		},
		"a mark comes before the delivery": {
			"two drains", delivered,
			altersIn(calls.Take, func(_ rows.Message, c *calls.BoxCall) { c.Op = calls.Done }),
		},
		"a look marks": {
			"a drain beside a stream", "I10",
			insteadIn(calls.Read, func(t *rows.Table, m rows.Message, c calls.BoxCall) calls.BoxReply {
				got := made(t, c)
				made(t, calls.BoxCall{Op: calls.Done, ID: m.ID, Entry: m.Entry(), At: m.Due})
				return got
			}),
		},
		"a count does not look whether the message is done": {
			"two relays", "was done and is pending again",
			insteadIn(calls.Failed, func(t *rows.Table, m rows.Message, c calls.BoxCall) calls.BoxReply {
				if !m.Pending() {
					return calls.BoxReply{Tries: 1, Done: revive(t, m, c.At)}
				}
				return made(t, c)
			}),
		},
		"a message is given up by a failure before it was redriven": {
			"redriven", reason,
			altersIn(calls.GiveUp, func(_ rows.Message, c *calls.BoxCall) { c.Entry.Tries = 0 }),
		},
		"a delivery that fails gives up": {
			"a stream", reason,
			insteadIn(calls.Failed, func(t *rows.Table, _ rows.Message, c calls.BoxCall) calls.BoxReply {
				c.Op = calls.GiveUp
				got := made(t, c)
				got.Tries = c.Entry.Tries + 1
				return got
			}),
		},
		"a message that is given up is taken": {
			"a message that is given up beside a drain", "leaves alone what is given up",
			altersIn(calls.Take, func(m rows.Message, c *calls.BoxCall) {
				if m.GivenUp() && m.Owner == c.Entry.Owner && m.Due.Equal(c.Entry.Due) {
					c.Op = calls.Failed
				}
			}),
		},
		"a try is counted twice": {
			"two drains", "no more tries are counted",
			insteadIn(calls.Take, func(t *rows.Table, _ rows.Message, c calls.BoxCall) calls.BoxReply {
				counted := c
				counted.Op, counted.At = calls.Failed, c.Entry.Due
				if got := made(t, counted); !got.Done {
					return calls.BoxReply{Err: got.Err}
				}
				return made(t, c)
			}),
		},
		"a taken message is never due again": {
			"drains that die", arrives,
			altersIn(calls.Take, func(_ rows.Message, c *calls.BoxCall) { c.At = c.At.Add(time.Hour) }),
		},
		"a list leaves out what was tried": {
			"two drains", arrives,
			insteadIn(calls.List, func(t *rows.Table, _ rows.Message, c calls.BoxCall) calls.BoxReply {
				got := made(t, c)
				got.Page = slices.DeleteFunc(got.Page,
					func(listed relay.Listed) bool { return t.Messages()[listed.ID].Tries > 0 })
				return got
			}),
		},
		"a mark marks nothing": {
			"a stream", arrives,
			insteadIn(calls.Done, func(*rows.Table, rows.Message, calls.BoxCall) calls.BoxReply {
				return calls.BoxReply{Done: true}
			}),
		},
		"a count does not grow": {
			"a stream with faults", "does not repeat a message for ever",
			insteadIn(calls.Failed, func(t *rows.Table, _ rows.Message, c calls.BoxCall) calls.BoxReply {
				got := made(t, c)
				got.Tries = 1
				return got
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireBroken(t, "messages: "+c.scenario, c.breaks, func(s explore.Scenario) store.Store {
				p := plantedOutbox{Table: rows.New(s.Rows), fault: c.fault}
				if name == "a message leaves although its commit is refused" {
					p.ghosts = new([]rows.Message)
				}
				return p
			})
		})
	}
}

// revive makes a message pending that is done.
func revive(t *rows.Table, m rows.Message, due time.Time) bool {
	err := t.Apply(context.Background(),
		rows.Writes{{Op: rows.Send, Key: m.ID, Set: m.Body, Owner: m.Owner, At: due}}, "")
	return err == nil
}
