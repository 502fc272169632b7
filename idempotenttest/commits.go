package idempotenttest

import (
	"context"
	"errors"
	"sync"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// Commit is what code under test has committed.
type Commit struct {
	// Answer is what was to be stored, as it was handed to the commit.
	Answer any
	// Writes are the items, in the form that their store takes. [store.Writes.Len] tells how many
	// there are.
	Writes store.Writes
}

// Commits returns what was committed in a context that [Context] has made, or in one made from it.
// There is one at most. It panics if ctx is another one.
func Commits(ctx context.Context) []Commit {
	of := deliveryOf(ctx, "Commits")
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.done == nil {
		return nil
	}
	return []Commit{*of.done}
}

// delivery is a delivery and the store that it is on: one in memory, where a commit is one effect
// that nobody looks into.
type delivery struct {
	protocol.Delivery
	memory.Store

	mu sync.Mutex
	// errs are how the next commits end, and answer is that of the commit that is under way.
	errs   []error
	answer any
	done   *Commit
}

// Commit implements [store.Committer].
func (d *delivery) Commit(ctx context.Context, seen, next store.Record, writes store.Writes,
	_ string,
) (store.Record, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if len(d.errs) > 0 {
		err, d.errs = d.errs[0], d.errs[1:]
	}
	switch {
	case errors.Is(err, execution.ErrLeaseLost):
		return store.Record{}, false, nil // the record is gone
	case err != nil:
		return store.Record{}, false,
			&store.Error{Op: "commit", Kind: store.FailureRejected, NotApplied: true, Err: err}
	}
	held, committed, err := d.Swap(ctx, seen, next)
	if committed {
		d.done = &Commit{Answer: d.answer, Writes: writes}
	}
	return held, committed, err
}

// Apply implements [store.Committer], for executions without protection.
func (d *delivery) Apply(context.Context, store.Writes, string) error { return nil }
