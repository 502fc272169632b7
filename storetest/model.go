package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// register is the contract for one key in its shortest form. A store is right if no sequence of
// calls, and no history of concurrent ones, tells it from a register.
type register struct {
	record store.Record
	held   bool
}

// call is one call of a store.
type call struct {
	calls.Call

	// rows are what the writes are of. They decline if the condition of one does not hold.
	rows     []Row
	declines bool
}

// answer is what a call returned. The record is what is held where it was asked for, or was the
// cause of a refusal.
type answer struct {
	done   bool
	record store.Record
	// declined says that a write has refused.
	declined bool
}

// apply returns the register after the call, and what a store answers to it.
func (g register) apply(c call) (register, answer) {
	switch c.Op {
	case calls.Claim:
		if g.held && !g.claimable(c.Now) {
			return g, answer{record: g.record}
		}
		return register{c.Next, true}, answer{done: true}
	case calls.Swap, calls.Commit:
		if !g.is(c.Seen) || g.shortened(c) || g.startsAgain(c) {
			return g, answer{record: g.record}
		}
		if c.declines {
			return g, answer{declined: true}
		}
		next := after(g.record, c.Next)
		if c.handsOver() {
			return register{next, true}, answer{done: true, record: next}
		}
		return register{next, true}, answer{done: true}
	case calls.Delete:
		if !g.is(c.Seen) {
			return g, answer{}
		}
		return register{}, answer{done: true}
	case calls.Apply:
		return g, answer{done: !c.declines, declined: c.declines}
	case calls.Get, calls.ReadResult:
	}
	return g, answer{done: g.held, record: g.record}
}

// claimable reports whether the record has expired, and no lease lives.
func (g register) claimable(now time.Time) bool {
	live := g.record.Status == store.StatusInProgress && !g.record.Lease.IsZero() && now.Before(g.record.Lease)
	return !live && !now.Before(g.record.Expiry)
}

// shortened reports whether a swap would move the lease of an owner back.
func (g register) shortened(c call) bool {
	same := c.Seen.Owner != "" && c.Next.Owner == c.Seen.Owner && c.Next.Status == store.StatusInProgress
	return same && !c.Next.Lease.IsZero() && c.Next.Lease.Before(g.record.Lease)
}

// is reports whether a record is held and is the one that was seen.
func (g register) is(seen store.Record) bool {
	same := g.held && g.record.Status == seen.Status && g.record.Owner == seen.Owner
	if seen.Status == store.StatusInProgress && g.record.Reason != seen.Reason {
		return false
	}
	if seen.Status != store.StatusCompleted && seen.StepWrites != store.AnyStepWrites &&
		g.record.StepWrites != seen.StepWrites {
		return false
	}
	sameLease := g.record.Lease.Equal(seen.Lease)
	if seen.Owner == "" {
		return same && sameLease && g.record.Expiry.Equal(seen.Expiry)
	}
	return same && (sameLease || seen.Lease.IsZero())
}

// startsAgain reports whether a swap would mark a step as started that the record has.
func (g register) startsAgain(c call) bool {
	for name, s := range c.Next.Steps {
		if _, has := g.record.Steps[name]; has && s.Kind == store.StepStarted &&
			c.Next.Status != store.StatusCompleted {
			return true
		}
	}
	return false
}

// handsOver reports whether a swap returns the record as it is after the write.
func (c call) handsOver() bool {
	return c.Op == calls.Swap && c.Seen.Owner != c.Next.Owner && c.Next.Status != store.StatusCompleted
}

// after returns the record as it is after a swap for next: its steps are those of the held one with
// what next changes.
func after(held, next store.Record) store.Record {
	changes := next.Steps
	if next.Lease.IsZero() {
		next.Lease = held.Lease
	}
	next.Steps, next.StepWrites = nil, 0
	if next.Status == store.StatusCompleted {
		return next
	}
	next.Steps, next.StepWrites = maps.Clone(held.Steps), held.StepWrites
	if len(changes) == 0 {
		return next
	}
	next.StepWrites++
	if next.Steps == nil {
		next.Steps = make(map[string]store.Step)
	}
	maps.Copy(next.Steps, changes)
	maps.DeleteFunc(next.Steps, func(_ string, s store.Step) bool { return s.Kind == "" })
	return next
}

// make makes the call, again for as long as it meets another writer.
func (c call) make(ctx context.Context, s store.Store) (answer, error) {
	for range conflicts {
		a, err := c.once(ctx, s)
		if failure, ok := errors.AsType[*store.Error](err); !ok || failure.Kind != store.FailureConflict {
			return a, err
		}
		time.Sleep(time.Duration(rand.Int64N(int64(conflictPause))))
	}
	return c.once(ctx, s)
}

// A transaction that meets another one may be refused, and repeated.
const (
	conflicts     = 100
	conflictPause = 20 * time.Millisecond
)

func (c call) once(ctx context.Context, s store.Store) (answer, error) {
	r := c.Make(ctx, s)
	if errors.Is(r.Err, store.ErrWritesRefused) {
		return answer{declined: true}, nil
	}
	if r.Done && c.Op != calls.Get && !c.handsOver() {
		r.Held = store.Record{} // the contract leaves open what a write that was not refused returns
	}
	return answer{done: r.Done, record: r.Held}, r.Err
}

func (a answer) equal(b answer) bool {
	return a.done == b.done && a.declined == b.declined && equal(a.record, b.record)
}

func (c call) String() string {
	text := fmt.Sprintf("%s of %s at %s", c.Op, c.Key, c.Now.Format(time.RFC3339Nano))
	if c.Seen.Key != "" {
		text += "\nof\n" + describe(c.Seen)
	}
	if c.Next.Key != "" {
		text += "\nfor\n" + describe(c.Next)
	}
	if c.rows != nil {
		text += fmt.Sprintf("\nwith %+v", c.rows)
	}
	return text
}

func (a answer) String() string {
	if a.declined {
		return "a write refused"
	}
	return fmt.Sprintf("%t\n%s", a.done, describe(a.record))
}
