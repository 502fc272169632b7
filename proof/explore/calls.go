package explore

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// op is a method of a store.
type op string

// The methods.
const (
	opClaim  op = "claim"
	opSwap   op = "swap"
	opDelete op = "delete"
	opGet    op = "get"
	opCommit op = "commit"
)

// call is a call of a store, and the message that carries it.
type call struct {
	Op         op
	Key        string
	Seen, Next store.Record
	// Now is the clock of a claim, which takes Next.
	Now time.Time
	// Writes and Token are those of a commit.
	Writes store.Writes
	Token  string
	// within says that a commit of the handler makes the call, try which of them.
	within bool
	try    int
}

// reply is what a call returned. Done is the answer of a method that only has one.
type reply struct {
	Held store.Record
	Done bool
	Err  error
}

// Make makes the call.
func (c call) Make(ctx context.Context, s store.Store) (r reply) {
	switch c.Op {
	case opClaim:
		r.Held, r.Done, r.Err = s.Claim(ctx, c.Next, c.Now)
	case opSwap:
		r.Held, r.Done, r.Err = s.Swap(ctx, c.Seen, c.Next)
	case opDelete:
		r.Done, r.Err = s.Delete(ctx, c.Seen)
	case opGet:
		r.Held, r.Done, r.Err = s.Get(ctx, c.Key)
	case opCommit:
		commits, err := store.CommitterOf(s)
		if err != nil {
			return reply{Err: err}
		}
		r.Held, r.Done, r.Err = commits.Commit(ctx, c.Seen, c.Next, c.Writes, c.Token)
	}
	return r
}

// called is a store that is one function for all of its methods. Nobody may write rows in it
// without a record.
type called func(ctx context.Context, c call) reply

var _ store.Committer = called(nil)

// Claim implements [store.Store].
func (s called) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	got := s(ctx, call{Op: opClaim, Key: r.Key, Next: r, Now: now})
	return got.Held, got.Done, got.Err
}

// Swap implements [store.Store].
func (s called) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	got := s(ctx, call{Op: opSwap, Key: seen.Key, Seen: seen, Next: next})
	return got.Held, got.Done, got.Err
}

// Delete implements [store.Store].
func (s called) Delete(ctx context.Context, seen store.Record) (bool, error) {
	got := s(ctx, call{Op: opDelete, Key: seen.Key, Seen: seen})
	return got.Done, got.Err
}

// Get implements [store.Store].
func (s called) Get(ctx context.Context, key string) (store.Record, bool, error) {
	got := s(ctx, call{Op: opGet, Key: key})
	return got.Held, got.Done, got.Err
}

// Commit implements [store.Committer].
func (s called) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	got := s(ctx, call{Op: opCommit, Key: seen.Key, Seen: seen, Next: next, Writes: writes, Token: token})
	return got.Held, got.Done, got.Err
}

// Apply implements [store.Committer], and is never called.
func (called) Apply(context.Context, store.Writes, string) error {
	panic("explore: rows without a record")
}
