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
func (m Message) Entry() relay.Entry[Row] {
	return relay.Entry[Row]{
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
	if t.messages == nil {
		t.messages = map[string]Message{}
	}
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

// Box is the messages of a table. It does to them what the table of package outbox does to its own.
type Box struct{ t *Table }

var _ relay.Box[Row] = Box{}

// Box returns the messages as a relay sees them: a [Box].
func (t *Table) Box() relay.Box[Row] { return Box{t} }

// Get implements [relay.Box].
func (b Box) Get(_ context.Context, id string) (relay.Entry[Row], bool, error) {
	b.t.mu.Lock()
	defer b.t.mu.Unlock()
	m := b.t.messages[id]
	if !m.Pending() {
		return relay.Entry[Row]{}, false, nil
	}
	return m.Entry(), true, nil
}

// Done implements [relay.Box].
func (b Box) Done(_ context.Context, e relay.Entry[Row], now time.Time) (bool, error) {
	return b.change(e, func(m *Message) bool {
		m.Due, m.Tries, m.GivenUpAt, m.DoneAt = time.Time{}, 0, time.Time{}, milliseconds(now)
		return true
	}), nil
}

// Failed implements [relay.Box].
func (b Box) Failed(_ context.Context, e relay.Entry[Row], due time.Time) (tries int, pending bool, err error) {
	tries = e.Tries
	pending = b.change(e, func(m *Message) bool {
		m.Due, m.Tries = milliseconds(due), m.Tries+1
		tries = m.Tries
		return true
	})
	return tries, pending, nil
}

// Take implements [relay.Box].
func (b Box) Take(_ context.Context, e relay.Entry[Row], due time.Time) (bool, error) {
	return b.change(e, func(m *Message) bool {
		if !m.Due.Equal(e.Due) || m.GivenUp() {
			return false
		}
		m.Due, m.Tries = milliseconds(due), m.Tries+1
		return true
	}), nil
}

// GiveUp implements [relay.Box].
func (b Box) GiveUp(_ context.Context, e relay.Entry[Row], now time.Time) (bool, error) {
	return b.change(e, func(m *Message) bool {
		if m.Tries < e.Tries {
			return false // it was redriven since
		}
		m.GivenUpAt, m.Tries = milliseconds(now), max(m.Tries, 1)
		return true
	}), nil
}

// change changes a message that is pending and of the entry's commit, unless the change says that
// it does not.
func (b Box) change(e relay.Entry[Row], change func(m *Message) bool) bool {
	b.t.mu.Lock()
	defer b.t.mu.Unlock()
	m := b.t.messages[e.ID]
	if !m.Pending() || m.Owner != e.Owner || !change(&m) {
		return false
	}
	b.t.put(m)
	return true
}

// List implements [relay.Box]. All messages are in the first shard, on one page.
func (b Box) List(_ context.Context, shard int, _ string) (page []relay.Listed, next string, err error) {
	b.t.mu.Lock()
	defer b.t.mu.Unlock()
	if shard > 0 {
		return nil, "", nil
	}
	for _, m := range b.t.messages {
		if m.Pending() && !m.GivenUp() {
			page = append(page, relay.Listed{ID: m.ID, Due: m.Due, Created: m.Created})
		}
	}
	slices.SortFunc(page, func(x, y relay.Listed) int { return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.ID, y.ID)) })
	return page, "", nil
}

// milliseconds is an instant as the table has it.
func milliseconds(t time.Time) time.Time { return t.Truncate(time.Millisecond) }
