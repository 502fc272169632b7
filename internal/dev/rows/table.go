// Package rows is a table with transactions in memory: the model of what a commit does to DynamoDB.
// Its rows are numbers by name, under keys; its records are those of package memory. One
// transaction replaces a record and writes rows, both or neither, as [store.Committer] wants it. A
// write may also be a message, which relays deliver: [Table.Answer] is how they find it.
//
// It passes the conformance suite of stores, commits included, as package dynamo does.
package rows

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// Row is what a table has under a key: numbers by name. A number that is not there is 0.
type Row map[string]int64

// Write is one of a transaction. Its row must have the numbers of If. Without Set and Add it looks.
type Write struct {
	Key string
	// Set are numbers that the row gets, which is made if there is none; Add is added to others.
	Set, Add, If Row
	// Sends makes it a message, whose id is the key, whatever there was with that id. Owner and At
	// are who commits it, and when it was made.
	Sends bool
	Owner string
	At    time.Time
}

// Writes are those of one transaction, each of another row. It implements [store.Writes].
type Writes []Write

// Len implements [store.Writes].
func (w Writes) Len() int { return len(w) }

// Table has rows, the records of handlers and messages. It is made by [New], and must not be
// copied. Calls of a store are safe for concurrent use, each is atomic. All else is for who is
// alone.
type Table struct {
	memory.Store

	// Remembers makes the table recognise the token of a transaction that it has applied, as
	// DynamoDB does for ten minutes: such a call succeeds and changes nothing. A table that does
	// not is one of moto's, or DynamoDB's after that time.
	Remembers bool

	Rows map[string]Row
	// Messages are by their ids. Images are what each write of a message has left, in their order:
	// what the stream of the table has.
	Messages map[string]Message
	Images   []Message
	// Applied is how many transactions were applied.
	Applied int

	mu     sync.Mutex
	tokens map[string]bool
}

var _ store.Committer = (*Table)(nil)

// Counted are what the conformance suite writes in a table, which behind finds behind the store
// that a check is handed: rows that count how often they were written.
func Counted(behind func(store.Store) *Table) *storetest.Writes {
	return &storetest.Writes{
		Of: func(all ...storetest.Row) store.Writes {
			writes := make(Writes, len(all))
			for n, r := range all {
				writes[n] = Write{Key: r.Name, Add: Row{"n": 1}}
				if r.New {
					writes[n].If = Row{"n": 0}
				}
			}
			return writes
		},
		Count: func(_ context.Context, s store.Store, name string) (int, error) {
			t := behind(s)
			t.mu.Lock()
			defer t.mu.Unlock()
			return int(t.Rows[name]["n"]), nil
		},
	}
}

// New returns a table with these rows.
func New(rows map[string]Row) *Table {
	t := &Table{Rows: map[string]Row{}, Messages: map[string]Message{}, tokens: map[string]bool{}}
	for key, r := range rows {
		t.Rows[key] = maps.Clone(r)
	}
	return t
}

// Forget forgets the tokens, as DynamoDB does after ten minutes.
func (t *Table) Forget() { clear(t.tokens) }

// Commit implements [store.Committer].
func (t *Table) Commit(ctx context.Context, seen, next store.Record, writes store.Writes,
	token string,
) (store.Record, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, err := own(ctx, "commit", writes)
	if err != nil || t.tokens[token] {
		return store.Record{}, err == nil, err
	}
	held, found, err := t.Get(ctx, seen.Key)
	if err != nil || !found || !held.Matches(seen) {
		return held, false, err
	}
	if t.refuses(w) {
		return store.Record{}, false, failed("commit", store.FailureRejected, store.ErrWritesRefused)
	}
	// Rows change under the lock only, so the conditions still hold in this second comparison.
	held, committed, err := t.Swap(ctx, seen, next)
	if committed {
		t.apply(w, token)
	}
	return held, committed, err
}

// Apply implements [store.Committer].
func (t *Table) Apply(ctx context.Context, writes store.Writes, token string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, err := own(ctx, "apply", writes)
	switch {
	case err != nil || t.tokens[token]:
		return err
	case t.refuses(w):
		return failed("apply", store.FailureRejected, store.ErrWritesRefused)
	}
	t.apply(w, token)
	return nil
}

// own returns writes that are a table's own, for a call whose context has not ended.
func own(ctx context.Context, op string, writes store.Writes) (Writes, error) {
	w, is := writes.(Writes)
	switch {
	case !is:
		return nil, failed(op, store.FailureRejected, store.ErrNoCommit)
	case ctx.Err() != nil:
		return nil, failed(op, store.FailureTimeout, ctx.Err())
	}
	return w, nil
}

func failed(op string, kind store.Failure, err error) error {
	return &store.Error{Op: op, Kind: kind, NotApplied: true, Err: err}
}

// Refuses reports whether a condition does not hold.
func (t *Table) Refuses(w Writes) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refuses(w)
}

func (t *Table) refuses(w Writes) bool {
	return slices.ContainsFunc(w, func(one Write) bool {
		for name, n := range one.If {
			if t.Rows[one.Key][name] != n {
				return true
			}
		}
		return false
	})
}

// apply applies the writes, whose conditions hold.
func (t *Table) apply(w Writes, token string) {
	for _, one := range w {
		switch {
		case one.Sends:
			t.put(Message{ID: one.Key, Owner: one.Owner, Created: one.At, Due: one.At})
			continue
		case t.Rows[one.Key] == nil && len(one.Set)+len(one.Add) > 0:
			t.Rows[one.Key] = Row{}
		}
		maps.Copy(t.Rows[one.Key], one.Set)
		for name, n := range one.Add {
			t.Rows[one.Key][name] += n
		}
	}
	if t.Remembers && token != "" {
		t.tokens[token] = true
	}
	t.Applied++
}

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
	Page  []Message
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
func (b Box) List(_ context.Context, shard int) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
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
func (t *Table) page() (page []Message) {
	for _, m := range t.Messages {
		if Pending(m) && !m.GivenUp {
			page = append(page, Message{ID: m.ID, Due: m.Due, Created: m.Created})
		}
	}
	slices.SortFunc(page, func(x, y Message) int { return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.ID, y.ID)) })
	return page
}
