package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
)

// register is the contract for one key in its shortest form. A store is right if no sequence of calls, and no history
// of concurrent ones, tells it from a register.
type register struct {
	record idempotent.Record
	held   bool
}

// operation is a method of a store.
type operation string

const (
	opClaim  operation = "Claim"
	opSwap   operation = "Swap"
	opDelete operation = "Delete"
	opGet    operation = "Get"
)

// call is one call of a store.
type call struct {
	op   operation
	key  string
	seen idempotent.Record // of Swap and Delete
	next idempotent.Record // of Claim and Swap
	now  time.Time         // of Claim
}

// answer is what a call returned. The record is what is held where it was asked for, or was the cause of a refusal.
type answer struct {
	done   bool
	record idempotent.Record
}

// apply returns the register after the call, and what a store answers to it.
func (g register) apply(c call) (register, answer) {
	switch c.op {
	case opClaim:
		if g.held && (g.record.Status != idempotent.StatusCompleted || c.now.Before(g.record.Expiry)) {
			return g, answer{record: g.record}
		}
		return register{c.next, true}, answer{done: true}
	case opSwap:
		if !g.is(c.seen) {
			return g, answer{record: g.record}
		}
		next := c.next
		if next.Lease.IsZero() {
			next.Lease = g.record.Lease
		}
		return register{next, true}, answer{done: true}
	case opDelete:
		if !g.is(c.seen) {
			return g, answer{}
		}
		return register{}, answer{done: true}
	case opGet:
	}
	return g, answer{done: g.held, record: g.record}
}

// is reports whether a record is held and is the one that was seen.
func (g register) is(seen idempotent.Record) bool {
	same := g.held && g.record.Status == seen.Status && g.record.Owner == seen.Owner
	sameLease := g.record.Lease.Equal(seen.Lease)
	if seen.Owner == "" {
		return same && sameLease && g.record.Expiry.Equal(seen.Expiry)
	}
	return same && (sameLease || seen.Lease.IsZero())
}

// make makes the call.
func (c call) make(ctx context.Context, s idempotent.Store) (answer, error) {
	var (
		a   answer
		err error
	)
	switch c.op {
	case opClaim:
		a.record, a.done, err = s.Claim(ctx, c.next, c.now)
	case opSwap:
		a.record, a.done, err = s.Swap(ctx, c.seen, c.next)
	case opDelete:
		a.done, err = s.Delete(ctx, c.seen)
	case opGet:
		a.record, a.done, err = s.Get(ctx, c.key)
	}
	if a.done && c.op != opGet {
		a.record = idempotent.Record{} // the contract leaves open what a write that was not refused returns
	}
	return a, err
}

func (a answer) equal(b answer) bool { return a.done == b.done && equal(a.record, b.record) }

func (c call) String() string {
	switch c.op {
	case opClaim:
		return fmt.Sprintf("Claim at %s\n%s", c.now.Format(time.RFC3339Nano), describe(c.next))
	case opSwap:
		return fmt.Sprintf("Swap\n%s\nfor\n%s", describe(c.seen), describe(c.next))
	case opDelete:
		return "Delete\n" + describe(c.seen)
	case opGet:
	}
	return "Get " + c.key
}

func (a answer) String() string { return fmt.Sprintf("%t\n%s", a.done, describe(a.record)) }
