package explore

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
)

// entry is what a table has of a message: the attributes of package outbox that decide anything,
// and nothing else. Due is zero once it is done.
type entry = relay.Entry[struct{}]

func pending(m entry) bool { return !m.Due.IsZero() }

// outbox is the model of the table of package outbox. It has the messages by their ids. Images are
// what each write of a message has left, in their order: what the stream of the table has.
type outbox struct {
	messages map[string]entry
	images   []entry
}

// boxOp is a method of a box of messages.
type boxOp string

// The methods.
const (
	boxGet    boxOp = "look at a message"
	boxDone   boxOp = "mark"
	boxFailed boxOp = "count"
	boxTake   boxOp = "take"
	boxGiveUp boxOp = "give up"
	boxList   boxOp = "list"
)

// boxCall is a call of a box, and the message that carries it.
type boxCall struct {
	Op    boxOp
	Entry entry // of a look only the ID
	// At is the instant that it writes.
	At time.Time
}

// boxReply is what a call of a box returned: a message or a page, how many tries are counted, and
// whether there was something to read or to write.
type boxReply struct {
	Entry entry
	Page  []entry
	Tries int
	Done  bool
	Err   error
}

// boxOf is a box of messages that is one function for all of its methods.
type boxOf func(c boxCall) boxReply

var _ relay.Box[struct{}] = boxOf(nil)

// Get implements [relay.Box].
func (b boxOf) Get(_ context.Context, id string) (entry, bool, error) {
	got := b(boxCall{Op: boxGet, Entry: entry{ID: id}})
	return got.Entry, got.Done, got.Err
}

// Failed implements [relay.Box].
func (b boxOf) Failed(_ context.Context, e entry, due time.Time) (tries int, pending bool, err error) {
	got := b(boxCall{Op: boxFailed, Entry: e, At: due})
	return got.Tries, got.Done, got.Err
}

// Done implements [relay.Box].
func (b boxOf) Done(_ context.Context, e entry, now time.Time) error {
	_, err := b.write(boxDone, e, now)
	return err
}

// Take implements [relay.Box].
func (b boxOf) Take(_ context.Context, e entry, due time.Time) (bool, error) {
	return b.write(boxTake, e, due)
}

// GiveUp implements [relay.Box].
func (b boxOf) GiveUp(_ context.Context, e entry, _ error, now time.Time) (bool, error) {
	return b.write(boxGiveUp, e, now)
}

// List implements [relay.Box]. All messages are in the first shard, on one page.
func (b boxOf) List(_ context.Context, shard int) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		if shard > 0 {
			return
		}
		for _, listed := range b(boxCall{Op: boxList}).Page {
			if !yield(listed, nil) {
				return
			}
		}
	}
}

func (b boxOf) write(op boxOp, e entry, at time.Time) (bool, error) {
	got := b(boxCall{Op: op, Entry: e, At: at})
	return got.Done, got.Err
}

func (o *outbox) put(m entry) {
	o.messages[m.ID] = m
	o.images = append(o.images, m)
}

// redrive lets a message that is given up be delivered again.
func (o *outbox) redrive(m entry, now time.Time) {
	m.Due, m.Tries, m.GivenUp = now, 0, false
	o.put(m)
}

// answer makes a call of a box, as the table of package outbox does.
func (o *outbox) answer(c boxCall) boxReply {
	if c.Op == boxList {
		return boxReply{Page: o.page()}
	}
	m, refused := o.messages[c.Entry.ID], boxReply{Tries: c.Entry.Tries}
	switch {
	case !pending(m):
		return refused
	case c.Op == boxGet:
		return boxReply{Entry: m, Done: true}
	case m.Owner != c.Entry.Owner:
		return refused
	}
	switch c.Op {
	case boxDone:
		m.Due, m.Tries, m.GivenUp = time.Time{}, 0, false
	case boxTake:
		if !m.Due.Equal(c.Entry.Due) || m.GivenUp {
			return refused
		}
		m.Due, m.Tries = c.At, m.Tries+1
	case boxGiveUp:
		if m.Tries < c.Entry.Tries {
			return refused // it was redriven since
		}
		m.GivenUp, m.Tries = true, max(m.Tries, 1)
	default: // boxFailed
		m.Due, m.Tries = c.At, m.Tries+1
	}
	o.put(m)
	return boxReply{Done: true, Tries: m.Tries}
}

// page lists messages.
func (o *outbox) page() (page []entry) {
	for _, m := range o.messages {
		if pending(m) && !m.GivenUp {
			page = append(page, entry{ID: m.ID, Due: m.Due})
		}
	}
	slices.SortFunc(page, func(x, y entry) int { return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.ID, y.ID)) })
	return page
}
