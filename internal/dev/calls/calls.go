// Package calls makes values of the calls of a store. Tests plant a mistake in such a call, let it
// fail or compare its answer; the explorer holds it back, lets it happen, loses or repeats it.
package calls

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Op names a method of a store, as [store.Error] does.
type Op string

// The methods.
const (
	Claim      Op = "claim"
	Swap       Op = "swap"
	Commit     Op = "commit"
	Apply      Op = "apply"
	Delete     Op = "delete"
	Get        Op = "get"
	ReadResult Op = "read result"
)

// Call is a call of a store, and the message that carries it.
type Call struct {
	// N is the place of the call among all calls of a [Faulty] store. It counts from 1.
	N  int
	Op Op
	// Key is that of the record, of every call but Apply.
	Key string
	// Seen is what Swap, Commit and Delete take for the record that is held, and what ReadResult is
	// handed. Next is what Claim, Swap and Commit write.
	Seen, Next store.Record
	// Now is the clock of a claim.
	Now time.Time
	// Writes and Token are those of a commit, and of Apply.
	Writes store.Writes
	Token  string
}

// Reply is what a call returned. Done is the answer of a method that only has one. The result that
// ReadResult returns is that of Held.
type Reply struct {
	Held store.Record
	Done bool
	Err  error
}

// Make makes the call. What the store cannot do at all is the error of this module for that.
func (c Call) Make(ctx context.Context, s store.Store) (r Reply) {
	switch c.Op {
	case Claim:
		r.Held, r.Done, r.Err = s.Claim(ctx, c.Next, c.Now)
	case Swap:
		r.Held, r.Done, r.Err = s.Swap(ctx, c.Seen, c.Next)
	case Delete:
		r.Done, r.Err = s.Delete(ctx, c.Seen)
	case Get:
		r.Held, r.Done, r.Err = s.Get(ctx, c.Key)
	case ReadResult:
		reader, ok := s.(store.ResultReader)
		if !ok {
			const reason = "its result is kept in parts, which this store cannot read"
			return Reply{Err: &store.UnreadableError{Reason: reason}}
		}
		r.Held.Result, r.Err = reader.ReadResult(ctx, c.Seen)
		r.Done = r.Err == nil
	case Commit, Apply:
		committer, err := store.CommitterOf(s)
		if err != nil {
			return Reply{Err: err}
		}
		if c.Op == Commit {
			r.Held, r.Done, r.Err = committer.Commit(ctx, c.Seen, c.Next, c.Writes, c.Token)
			break
		}
		r.Err = committer.Apply(ctx, c.Writes, c.Token)
		r.Done = r.Err == nil
	}
	return r
}

// Store is a store that is one function for all of its methods.
type Store func(ctx context.Context, c Call) Reply

var (
	_ store.Committer    = Store(nil)
	_ store.ResultReader = Store(nil)
)

// Claim implements [store.Store].
func (s Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Claim, Key: r.Key, Next: r, Now: now})
	return got.Held, got.Done, got.Err
}

// Swap implements [store.Store].
func (s Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Swap, Key: seen.Key, Seen: seen, Next: next})
	return got.Held, got.Done, got.Err
}

// Delete implements [store.Store].
func (s Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	got := s(ctx, Call{Op: Delete, Key: seen.Key, Seen: seen})
	return got.Done, got.Err
}

// Get implements [store.Store].
func (s Store) Get(ctx context.Context, key string) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Get, Key: key})
	return got.Held, got.Done, got.Err
}

// ReadResult implements [store.ResultReader].
func (s Store) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	got := s(ctx, Call{Op: ReadResult, Key: r.Key, Seen: r})
	return got.Held.Result, got.Err
}

// Commit implements [store.Committer].
func (s Store) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Commit, Key: seen.Key, Seen: seen, Next: next, Writes: writes, Token: token})
	return got.Held, got.Done, got.Err
}

// Apply implements [store.Committer].
func (s Store) Apply(ctx context.Context, writes store.Writes, token string) error {
	return s(ctx, Call{Op: Apply, Writes: writes, Token: token}).Err
}
