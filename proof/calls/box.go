package calls

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/rows"
)

// Entry is a message as a relay sees it.
type Entry = relay.Entry[rows.Row]

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
	ID    string
	Entry Entry
	// At is the instant that it writes.
	At time.Time
	// Shard and Cursor are those of a list.
	Shard  int
	Cursor string
}

// BoxReply is what a call of a box returned.
type BoxReply struct {
	Entry Entry
	Tries int
	Done  bool
	// Page and Next are those of a list.
	Page []relay.Listed
	Next string
	Err  error
}

// Make makes the call.
func (c BoxCall) Make(ctx context.Context, b relay.Box[rows.Row]) (r BoxReply) {
	switch c.Op {
	case Read:
		r.Entry, r.Done, r.Err = b.Get(ctx, c.ID)
	case Done:
		r.Done, r.Err = b.Done(ctx, c.Entry, c.At)
	case Failed:
		r.Tries, r.Done, r.Err = b.Failed(ctx, c.Entry, c.At)
	case Take:
		r.Done, r.Err = b.Take(ctx, c.Entry, c.At)
	case GiveUp:
		r.Done, r.Err = b.GiveUp(ctx, c.Entry, c.At)
	case List:
		r.Page, r.Next, r.Err = b.List(ctx, c.Shard, c.Cursor)
	}
	return r
}

// Box is a box of messages that is one function for all of its methods.
type Box func(ctx context.Context, c BoxCall) BoxReply

var _ relay.Box[rows.Row] = Box(nil)

// Get implements [relay.Box].
func (b Box) Get(ctx context.Context, id string) (Entry, bool, error) {
	got := b(ctx, BoxCall{Op: Read, ID: id})
	return got.Entry, got.Done, got.Err
}

// Done implements [relay.Box].
func (b Box) Done(ctx context.Context, e Entry, now time.Time) (bool, error) {
	return b.write(ctx, Done, e, now)
}

// Failed implements [relay.Box].
func (b Box) Failed(ctx context.Context, e Entry, due time.Time) (tries int, pending bool, err error) {
	got := b(ctx, BoxCall{Op: Failed, ID: e.ID, Entry: e, At: due})
	return got.Tries, got.Done, got.Err
}

// Take implements [relay.Box].
func (b Box) Take(ctx context.Context, e Entry, due time.Time) (bool, error) {
	return b.write(ctx, Take, e, due)
}

// GiveUp implements [relay.Box].
func (b Box) GiveUp(ctx context.Context, e Entry, now time.Time) (bool, error) {
	return b.write(ctx, GiveUp, e, now)
}

// List implements [relay.Box].
func (b Box) List(ctx context.Context, shard int, cursor string) ([]relay.Listed, string, error) {
	got := b(ctx, BoxCall{Op: List, Shard: shard, Cursor: cursor})
	return got.Page, got.Next, got.Err
}

func (b Box) write(ctx context.Context, op BoxOp, e Entry, at time.Time) (bool, error) {
	got := b(ctx, BoxCall{Op: op, ID: e.ID, Entry: e, At: at})
	return got.Done, got.Err
}
