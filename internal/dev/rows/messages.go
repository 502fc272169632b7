package rows

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
)

// Message is what a table has of a message: the attributes of package outbox that decide anything,
// and nothing else. Due is zero once it is done.
type Message = relay.Entry[struct{}]

// Pending reports whether a message is not done.
func Pending(m Message) bool { return !m.Due.IsZero() }

// BoxOp is a method of a box of messages.
type BoxOp string

// The methods.
const (
	Read   BoxOp = "look at a message"
	Done   BoxOp = "mark"
	Failed BoxOp = "count"
	Take   BoxOp = "take"
	GiveUp BoxOp = "give up"
	List   BoxOp = "list"
)

// BoxCall is a call of a box, and the message that carries it.
type BoxCall struct {
	Op    BoxOp
	Entry Message // of a look only the ID
	// At is the instant that it writes.
	At time.Time
}

// BoxReply is what a call of a box returned: a message or a page, how many tries are counted, and
// whether there was something to read or to write.
type BoxReply struct {
	Entry Message
	Page  []relay.Listed
	Tries int
	Done  bool
	Err   error
}

// Box is a box of messages that is one function for all of its methods.
type Box func(c BoxCall) BoxReply

var _ relay.Box[struct{}] = Box(nil)

// Get implements [relay.Box].
func (b Box) Get(_ context.Context, id string) (Message, bool, error) {
	got := b(BoxCall{Op: Read, Entry: Message{ID: id}})
	return got.Entry, got.Done, got.Err
}

// Failed implements [relay.Box].
func (b Box) Failed(_ context.Context, e Message, due time.Time) (tries int, pending bool, err error) {
	got := b(BoxCall{Op: Failed, Entry: e, At: due})
	return got.Tries, got.Done, got.Err
}

// Done implements [relay.Box].
func (b Box) Done(_ context.Context, e Message, now time.Time) (bool, error) {
	return b.write(Done, e, now)
}

// Take implements [relay.Box].
func (b Box) Take(_ context.Context, e Message, due time.Time) (bool, error) {
	return b.write(Take, e, due)
}

// GiveUp implements [relay.Box].
func (b Box) GiveUp(_ context.Context, e Message, now time.Time) (bool, error) {
	return b.write(GiveUp, e, now)
}

// List implements [relay.Box]. All messages are in the first shard, on one page.
func (b Box) List(_ context.Context, shard int) iter.Seq2[relay.Listed, error] {
	return func(yield func(relay.Listed, error) bool) {
		if shard > 0 {
			return
		}
		for _, listed := range b(BoxCall{Op: List}).Page {
			if !yield(listed, nil) {
				return
			}
		}
	}
}

func (b Box) write(op BoxOp, e Message, at time.Time) (bool, error) {
	got := b(BoxCall{Op: op, Entry: e, At: at})
	return got.Done, got.Err
}

// put puts a message.
func (t *Table) put(m Message) {
	t.Messages[m.ID] = m
	t.Images = append(t.Images, m)
}

// Redrive lets a message that is given up be delivered again.
func (t *Table) Redrive(m Message, now time.Time) {
	m.Due, m.Tries, m.GivenUp = now, 0, false
	t.put(m)
}

// Answer makes a call of a box, as the table of package outbox does.
func (t *Table) Answer(c BoxCall) BoxReply {
	if c.Op == List {
		return BoxReply{Page: t.page()}
	}
	m, refused := t.Messages[c.Entry.ID], BoxReply{Tries: c.Entry.Tries}
	switch {
	case !Pending(m):
		return refused
	case c.Op == Read:
		return BoxReply{Entry: m, Done: true}
	case m.Owner != c.Entry.Owner:
		return refused
	}
	switch c.Op {
	case Done:
		m.Due, m.Tries, m.GivenUp = time.Time{}, 0, false
	case Take:
		if !m.Due.Equal(c.Entry.Due) || m.GivenUp {
			return refused
		}
		m.Due, m.Tries = c.At, m.Tries+1
	case GiveUp:
		if m.Tries < c.Entry.Tries {
			return refused // it was redriven since
		}
		m.GivenUp, m.Tries = true, max(m.Tries, 1)
	default: // Failed
		m.Due, m.Tries = c.At, m.Tries+1
	}
	t.put(m)
	return BoxReply{Done: true, Tries: m.Tries}
}

// page lists messages.
func (t *Table) page() (page []relay.Listed) {
	for _, m := range t.Messages {
		if Pending(m) && !m.GivenUp {
			page = append(page, relay.Listed{ID: m.ID, Due: m.Due, Created: m.Created})
		}
	}
	slices.SortFunc(page, func(x, y relay.Listed) int { return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.ID, y.ID)) })
	return page
}
