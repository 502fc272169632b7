package explore

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent"
)

// Op is a method of a store.
type Op string

// The methods.
const (
	opClaim  Op = "claim"
	opSwap   Op = "swap"
	opDelete Op = "delete"
	opGet    Op = "get"
)

// call is a call of the store, and the message that carries it.
type call struct {
	op         Op
	key        string
	seen, next idempotent.Record
	now        time.Time
}

// reply is what a call returned.
type reply struct {
	held idempotent.Record
	done bool
	err  error
}

// make makes the call.
func (c call) make(s idempotent.Store) reply {
	var r reply
	ctx := context.Background()
	switch c.op {
	case opClaim:
		r.held, r.done, r.err = s.Claim(ctx, c.next, c.now)
	case opSwap:
		r.held, r.done, r.err = s.Swap(ctx, c.seen, c.next)
	case opDelete:
		r.done, r.err = s.Delete(ctx, c.seen)
	case opGet:
		r.held, r.done, r.err = s.Get(ctx, c.key)
	}
	return r
}

// gate is the store as deliveries see it: each call waits until the schedule grants it.
type gate struct{}

func (gate) Claim(ctx context.Context, r idempotent.Record, now time.Time) (idempotent.Record, bool, error) {
	got := deliveryOf(ctx).call(call{op: opClaim, key: r.Key, next: r, now: now})
	return got.held, got.done, got.err
}

func (gate) Swap(ctx context.Context, seen, next idempotent.Record) (idempotent.Record, bool, error) {
	got := deliveryOf(ctx).call(call{op: opSwap, key: seen.Key, seen: seen, next: next})
	return got.held, got.done, got.err
}

func (gate) Delete(ctx context.Context, seen idempotent.Record) (bool, error) {
	got := deliveryOf(ctx).call(call{op: opDelete, key: seen.Key, seen: seen})
	return got.done, got.err
}

func (gate) Get(ctx context.Context, key string) (idempotent.Record, bool, error) {
	got := deliveryOf(ctx).call(call{op: opGet, key: key})
	return got.held, got.done, got.err
}
