package explore_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
)

type entry = relay.Entry[rows.Row]

// plantedBox is a box with one guard taken out.
type plantedBox struct {
	relay.Box[rows.Row]

	t      *rows.Table
	get    func(b plantedBox, id string)
	done   func(b plantedBox, e entry, now time.Time) (bool, error)
	failed func(b plantedBox, e entry, due time.Time) (int, bool, error)
	take   func(b plantedBox, e entry, due time.Time) (bool, error)
	giveUp func(b plantedBox, e entry, now time.Time) (bool, error)
	listed func(t *rows.Table, id string) bool
}

// held is the message with the id of an entry, as it is.
func (b plantedBox) held(e entry) rows.Message { return b.t.Messages()[e.ID] }

func (b plantedBox) Get(ctx context.Context, id string) (entry, bool, error) {
	e, pending, err := b.Box.Get(ctx, id)
	if b.get != nil {
		b.get(b, id)
	}
	return e, pending, err
}

func (b plantedBox) Done(ctx context.Context, e entry, now time.Time) (bool, error) {
	if b.done == nil {
		return b.Box.Done(ctx, e, now)
	}
	return b.done(b, e, now)
}

func (b plantedBox) Failed(ctx context.Context, e entry, due time.Time) (int, bool, error) {
	if b.failed == nil {
		return b.Box.Failed(ctx, e, due)
	}
	return b.failed(b, e, due)
}

func (b plantedBox) Take(ctx context.Context, e entry, due time.Time) (bool, error) {
	if b.take == nil {
		return b.Box.Take(ctx, e, due)
	}
	return b.take(b, e, due)
}

func (b plantedBox) GiveUp(ctx context.Context, e entry, now time.Time) (bool, error) {
	if b.giveUp == nil {
		return b.Box.GiveUp(ctx, e, now)
	}
	return b.giveUp(b, e, now)
}

func (b plantedBox) List(ctx context.Context, shard int, cursor string) (page []relay.Listed, next string, err error) {
	all, next, err := b.Box.List(ctx, shard, cursor)
	for _, l := range all {
		if b.listed == nil || b.listed(b.t, l.ID) {
			page = append(page, l)
		}
	}
	return page, next, err
}

// plantedOutbox is a table with such a box. With ghosts its stream also shows the messages of
// commits that were refused.
type plantedOutbox struct {
	*rows.Table

	box    plantedBox
	ghosts *[]rows.Message
}

func (p plantedOutbox) Box() relay.Box[rows.Row] {
	b := p.box
	b.Box, b.t = p.Table.Box(), p.Table
	return b
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
	ctx := context.Background()
	const again, beside = "another commit after the expiry", "another commit beside a drain"
	for name, c := range map[string]struct {
		scenario string
		box      plantedBox
		ghosts   bool
		breaks   string
	}{
		"a message leaves although its commit is refused": {
			"crashes of a handler", plantedBox{}, true, "that no commit has put",
		},
		"a mark does not compare the owner": {again, plantedBox{
			done: func(b plantedBox, e entry, now time.Time) (bool, error) {
				e.Owner = b.held(e).Owner
				return b.Box.Done(ctx, e, now)
			},
		}, false, "only a message that was delivered is done"},
		"a count does not compare the owner": {again, plantedBox{
			failed: func(b plantedBox, e entry, due time.Time) (int, bool, error) {
				e.Owner = b.held(e).Owner
				return b.Box.Failed(ctx, e, due)
			},
		}, false, "changes no message of another commit"},
		"a message is given up without a look at the owner": {again, plantedBox{
			giveUp: func(b plantedBox, e entry, now time.Time) (bool, error) {
				e.Owner = b.held(e).Owner
				return b.Box.GiveUp(ctx, e, now)
			},
		}, false, "changes no message of another commit"},
		"a message is taken without a look at the owner": {beside, plantedBox{
			take: func(b plantedBox, e entry, due time.Time) (bool, error) {
				e.Owner, e.Due = b.held(e).Owner, b.held(e).Due
				return b.Box.Take(ctx, e, due)
			},
		}, false, "changes no message of another commit"},
		"a delivery that fails marks": {"a stream", plantedBox{
			failed: func(b plantedBox, e entry, due time.Time) (int, bool, error) {
				done, err := b.Box.Done(ctx, e, due)
				return e.Tries + 1, done, err
			},
		}, false, "only a message that was delivered is done"},
		"a mark comes before the delivery": {"two drains", plantedBox{
			take: func(b plantedBox, e entry, due time.Time) (bool, error) { return b.Box.Done(ctx, e, due) },
		}, false, "only a message that was delivered is done"},
		"a look marks": {"a drain beside a stream", plantedBox{
			get: func(b plantedBox, id string) {
				m := b.t.Messages()[id]
				_, _ = b.Box.Done(ctx, m.Entry(), m.Due)
			},
		}, false, "I10"},
		"a count does not look whether the message is done": {"two relays", plantedBox{
			failed: func(b plantedBox, e entry, due time.Time) (int, bool, error) {
				if m := b.held(e); !m.Pending() {
					return 1, revive(b.t, m, due), nil
				}
				return b.Box.Failed(ctx, e, due)
			},
		}, false, "was done and is pending again"},
		"a message is given up by a failure before it was redriven": {"redriven", plantedBox{
			giveUp: func(b plantedBox, e entry, now time.Time) (bool, error) {
				e.Tries = 0
				return b.Box.GiveUp(ctx, e, now)
			},
		}, false, "given up for a reason"},
		"a delivery that fails gives up": {"a stream", plantedBox{
			failed: func(b plantedBox, e entry, due time.Time) (int, bool, error) {
				givenUp, err := b.Box.GiveUp(ctx, e, due)
				return e.Tries + 1, givenUp, err
			},
		}, false, "given up for a reason"},
		"a message that is given up is taken": {"a message that is given up beside a drain", plantedBox{
			take: func(b plantedBox, e entry, due time.Time) (bool, error) {
				if m := b.held(e); m.GivenUp() && m.Owner == e.Owner && m.Due.Equal(e.Due) {
					_, taken, err := b.Box.Failed(ctx, e, due)
					return taken, err
				}
				return b.Box.Take(ctx, e, due)
			},
		}, false, "leaves alone what is given up"},
		"a try is counted twice": {"two drains", plantedBox{
			take: func(b plantedBox, e entry, due time.Time) (bool, error) {
				if _, pending, err := b.Box.Failed(ctx, e, e.Due); !pending || err != nil {
					return false, err
				}
				return b.Box.Take(ctx, e, due)
			},
		}, false, "no more tries are counted"},
		"a taken message is never due again": {"drains that die", plantedBox{
			take: func(b plantedBox, e entry, due time.Time) (bool, error) {
				return b.Box.Take(ctx, e, due.Add(time.Hour))
			},
		}, false, "a message that has left arrives"},
		"a list leaves out what was tried": {"two drains", plantedBox{
			listed: func(t *rows.Table, id string) bool { return t.Messages()[id].Tries == 0 },
		}, false, "a message that has left arrives"},
		"a mark marks nothing": {"a stream", plantedBox{
			done: func(plantedBox, entry, time.Time) (bool, error) { return true, nil },
		}, false, "a message that has left arrives"},
		"a count does not grow": {"a stream with faults", plantedBox{
			failed: func(b plantedBox, e entry, due time.Time) (int, bool, error) {
				_, pending, err := b.Box.Failed(ctx, e, due)
				return 1, pending, err
			},
		}, false, "does not repeat a message for ever"},
	} {
		t.Run(name, func(t *testing.T) {
			requireMissed(t, "messages: "+c.scenario, c.breaks, func(s explore.Scenario) store.Store {
				p := plantedOutbox{Table: rows.New(s.Rows), box: c.box}
				if c.ghosts {
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
