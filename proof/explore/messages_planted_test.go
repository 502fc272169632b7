package explore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/rows"
	"github.com/go-idempotent/idempotent/internal/relay"
)

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
			"a stream", delivered,
			insteadIn(rows.Failed, func(t *rows.Table, _ rows.Message, c rows.BoxCall) rows.BoxReply {
				c.Op = rows.Done
				got := t.Answer(c)
				got.Tries = c.Entry.Tries + 1
				return got
			}),
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
			"a stream", reason,
			insteadIn(rows.Failed, func(t *rows.Table, _ rows.Message, c rows.BoxCall) rows.BoxReply {
				c.Op = rows.GiveUp
				got := t.Answer(c)
				got.Tries = c.Entry.Tries + 1
				return got
			}),
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
					func(listed relay.Listed) bool { return t.Messages[listed.ID].Tries > 0 })
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
