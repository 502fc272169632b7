package consumers

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// call is a call of the store.
type call struct {
	op         string
	seen, next store.Record
	now        time.Time
}

// reply is what it returned.
type reply struct {
	held store.Record
	done bool
	err  error
}

const (
	opClaim  = "claim"
	opSwap   = "swap"
	opDelete = "delete"
	opGet    = "get"
)

func (c call) make(s store.Store, key string) (r reply) {
	ctx := context.Background()
	switch c.op {
	case opClaim:
		r.held, r.done, r.err = s.Claim(ctx, c.next, c.now)
	case opSwap:
		r.held, r.done, r.err = s.Swap(ctx, c.seen, c.next)
	case opDelete:
		r.done, r.err = s.Delete(ctx, c.seen)
	case opGet:
		r.held, r.done, r.err = s.Get(ctx, key)
	}
	return r
}

// gate is the store as invocations see it: each call waits until the schedule grants it.
type gate struct{}

// errNoCall is what a process gets that has died. Nothing of it reaches anybody.
var errNoCall = &store.Error{Op: "none", Kind: store.FailureAccessDenied, NotApplied: true, Err: errDied}

func (gate) ask(ctx context.Context, key string, c call) reply {
	g := invocationOf(ctx).ask(stop{at: atCall, key: key, call: c})
	if g.dead {
		return reply{err: errNoCall}
	}
	return g.reply
}

func (g gate) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	got := g.ask(ctx, r.Key, call{op: opClaim, next: r, now: now})
	return got.held, got.done, got.err
}

func (g gate) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	got := g.ask(ctx, seen.Key, call{op: opSwap, seen: seen, next: next})
	return got.held, got.done, got.err
}

func (g gate) Delete(ctx context.Context, seen store.Record) (bool, error) {
	got := g.ask(ctx, seen.Key, call{op: opDelete, seen: seen})
	return got.done, got.err
}

func (g gate) Get(ctx context.Context, key string) (store.Record, bool, error) {
	got := g.ask(ctx, key, call{op: opGet})
	return got.held, got.done, got.err
}
