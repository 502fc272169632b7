package rows

import (
	"context"
	"iter"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
)

// Entry is a message as a relay sees it.
type Entry = relay.Entry[Row]

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
	Entry Entry // of a look only the ID
	// At is the instant that it writes.
	At time.Time
	// Shard is that of a list.
	Shard int
}

// BoxReply is what a call of a box returned: an entry or a page, how many tries are counted, and
// whether there was something to read or to write.
type BoxReply struct {
	Entry Entry
	Page  []relay.Listed
	Tries int
	Done  bool
	Err   error
}

// Box is a box of messages that is one function for all of its methods.
type Box func(ctx context.Context, c BoxCall) BoxReply

var _ relay.Box[Row] = Box(nil)

// Get implements [relay.Box].
func (b Box) Get(ctx context.Context, id string) (Entry, bool, error) {
	got := b(ctx, BoxCall{Op: Read, Entry: Entry{ID: id}})
	return got.Entry, got.Done, got.Err
}

// Failed implements [relay.Box].
func (b Box) Failed(ctx context.Context, e Entry, due time.Time) (tries int, pending bool, err error) {
	got := b(ctx, BoxCall{Op: Failed, Entry: e, At: due})
	return got.Tries, got.Done, got.Err
}

// Done implements [relay.Box].
func (b Box) Done(ctx context.Context, e Entry, now time.Time) (bool, error) {
	return b.write(ctx, Done, e, now)
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
func (b Box) List(ctx context.Context, shard int) iter.Seq2[relay.Listed, error] {
	return func(yield func(relay.Listed, error) bool) {
		got := b(ctx, BoxCall{Op: List, Shard: shard})
		for _, listed := range got.Page {
			if !yield(listed, nil) {
				return
			}
		}
		if got.Err != nil {
			yield(relay.Listed{}, got.Err)
		}
	}
}

func (b Box) write(ctx context.Context, op BoxOp, e Entry, at time.Time) (bool, error) {
	got := b(ctx, BoxCall{Op: op, Entry: e, At: at})
	return got.Done, got.Err
}
