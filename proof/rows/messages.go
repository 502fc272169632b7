package rows

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
)

// Message is what a table has of a message: the attributes of package outbox that decide anything.
// Instants are to the millisecond.
type Message struct {
	ID, Owner string
	Body      Row
	Created   time.Time
	// Due is zero once the message is done.
	Due   time.Time
	Tries int
	// GivenUpAt is when the message was given up, DoneAt when it was done. Otherwise they are zero.
	GivenUpAt, DoneAt time.Time
}

// Pending reports whether the message is not done.
func (m Message) Pending() bool { return !m.Due.IsZero() }

// GivenUp reports whether nobody delivers the message before somebody has looked at it.
func (m Message) GivenUp() bool { return !m.GivenUpAt.IsZero() }

// Entry is the message as a relay sees it.
func (m Message) Entry() Entry {
	return Entry{
		ID: m.ID, Owner: m.Owner, Due: m.Due, Tries: m.Tries, GivenUp: m.GivenUp(), Created: m.Created,
		Message: maps.Clone(m.Body),
	}
}

// Messages returns all messages, by their ids.
func (t *Table) Messages() map[string]Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.messages)
}

// Images returns what each write of a message has left, in their order: what the stream of the
// table has.
func (t *Table) Images() []Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clip(t.images)
}

// put puts a message.
func (t *Table) put(m Message) {
	t.messages[m.ID] = m
	t.images = append(t.images, m)
}

// Redrive lets a message that is given up be delivered again. False says that it is not given up as
// it was shown.
func (t *Table) Redrive(shown Message, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.messages[shown.ID]
	if !m.GivenUp() || m.Owner != shown.Owner || !m.GivenUpAt.Equal(shown.GivenUpAt) {
		return false
	}
	m.Due, m.Tries, m.GivenUpAt = milliseconds(now), 0, time.Time{}
	t.put(m)
	return true
}

// Box returns the messages as a relay sees them.
func (t *Table) Box() Box { return func(_ context.Context, c BoxCall) BoxReply { return t.Answer(c) } }

// Answer makes a call of a box. It does to the messages what the table of package outbox does to
// its own.
func (t *Table) Answer(c BoxCall) BoxReply {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Op == List {
		return BoxReply{Page: t.page(c.Shard)}
	}
	m, at, refused := t.messages[c.Entry.ID], milliseconds(c.At), BoxReply{Tries: c.Entry.Tries}
	switch {
	case !m.Pending():
		return refused
	case c.Op == Read:
		return BoxReply{Entry: m.Entry(), Done: true}
	case m.Owner != c.Entry.Owner:
		return refused
	}
	switch c.Op {
	case Done:
		m.Due, m.Tries, m.GivenUpAt, m.DoneAt = time.Time{}, 0, time.Time{}, at
	case Take:
		if !m.Due.Equal(c.Entry.Due) || m.GivenUp() {
			return refused
		}
		m.Due, m.Tries = at, m.Tries+1
	case GiveUp:
		if m.Tries < c.Entry.Tries {
			return refused // it was redriven since
		}
		m.GivenUpAt, m.Tries = at, max(m.Tries, 1)
	default: // Failed
		m.Due, m.Tries = at, m.Tries+1
	}
	t.put(m)
	return BoxReply{Done: true, Tries: m.Tries}
}

// page lists messages. All are in the first shard, on one page.
func (t *Table) page(shard int) (page []relay.Listed) {
	if shard > 0 {
		return nil
	}
	for _, m := range t.messages {
		if m.Pending() && !m.GivenUp() {
			page = append(page, relay.Listed{ID: m.ID, Due: m.Due, Created: m.Created})
		}
	}
	slices.SortFunc(page, func(x, y relay.Listed) int { return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.ID, y.ID)) })
	return page
}

// milliseconds is an instant as the table has it.
func milliseconds(t time.Time) time.Time { return t.Truncate(time.Millisecond) }
