// Package calls makes values of the calls of a store: the explorer holds such a call back, lets it
// happen, lose it or repeat it, and tests plant a mistake in it.
package calls

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Op is a method of a store.
type Op string

// The methods.
const (
	Claim  Op = "claim"
	Swap   Op = "swap"
	Delete Op = "delete"
	Get    Op = "get"
	Commit Op = "commit"
)

// Call is a call of a store, and the message that carries it.
type Call struct {
	Op         Op
	Key        string
	Seen, Next store.Record
	// Now is the clock of a claim, which takes Next.
	Now time.Time
	// Writes and Token are those of a commit.
	Writes store.Writes
	Token  string
}

// Reply is what a call returned. Done is the answer of a method that only has one.
type Reply struct {
	Held store.Record
	Done bool
	Err  error
}

// Make makes the call.
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
	case Commit:
		commits, err := store.CommitterOf(s)
		if err != nil {
			return Reply{Err: err}
		}
		r.Held, r.Done, r.Err = commits.Commit(ctx, c.Seen, c.Next, c.Writes, c.Token)
	}
	return r
}

// Store is a store that is one function for all of its methods. Nobody may write rows in it without
// a record.
type Store func(ctx context.Context, c Call) Reply

var _ store.Committer = Store(nil)

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

// Commit implements [store.Committer].
func (s Store) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Commit, Key: seen.Key, Seen: seen, Next: next, Writes: writes, Token: token})
	return got.Held, got.Done, got.Err
}

// Apply implements [store.Committer], and is never called.
func (Store) Apply(context.Context, store.Writes, string) error {
	panic("calls: rows without a record")
}
