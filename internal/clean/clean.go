// Package clean deletes what has expired in a table that has no time to live: page by page, at a bounded rate. It knows no table;
// packages dynamo and outbox bind it to theirs.
package clean

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/go-idempotent/idempotent/store"
)

// Table is what is cleaned. E is what it knows of an item that has expired. It is safe for concurrent use.
type Table[E any] interface {
	// Page reads at most limit items behind a cursor. An empty cursor is the beginning.
	Page(ctx context.Context, after string, limit int) (Page[E], error)
	// Delete deletes an item that a page has found, if it still is as the page has found it. Of a dry run it only says what would
	// become of the item.
	Delete(ctx context.Context, e E, dryRun bool) (Deletion, error)
}

// Page is what was read at once.
type Page[E any] struct {
	// Read is how many items were read, Expired those of them to delete. Kept is how many have expired and stay, as the page itself tells.
	Read, Kept int
	Expired    []E
	// Next is the cursor of the page behind it, empty if there is none.
	Next string
	// Units are the read units that this took.
	Units float64
}

// Deletion is what became of an item. Neither is true of one that somebody else has deleted.
type Deletion struct {
	Deleted, Kept         bool
	ReadUnits, WriteUnits float64
}

const (
	// pageSize is how many items a page has unless somebody says otherwise: at the 25 units a second that a sweep uses by default, their
	// deletion takes 20 seconds.
	pageSize = 500
	// concurrency is how many deletions of a page are under way at once. A write to another Region takes some 100 ms, so one after
	// the other would be ten a second.
	concurrency = 16
	// leastUnits is what a deletion takes at least. What it takes beyond them is known when it is done, and then the next ones wait.
	leastUnits = 1
	opClean    = "clean"
)

// errBackwards: nothing has expired that is still to expire.
var errBackwards = errors.New("the latest expiry to delete is after now")

// Expired implements [store.Cleaner].
func Expired[E any](ctx context.Context, t Table[E], c store.Cleaning) iter.Seq2[store.Cleaned, error] {
	return func(yield func(store.Cleaned, error) bool) {
		switch {
		case c.Before.IsZero():
			return
		case c.Before.After(c.Now):
			yield(store.Cleaned{}, &store.Error{Op: opClean, Kind: store.FailureRejected, NotApplied: true, Err: errBackwards})
			return
		case c.PageSize <= 0:
			c.PageSize = pageSize
		}
		p := pass[E]{Table: t, Cleaning: c, reads: newPace(c.ReadRate), writes: newPace(c.WriteRate)}
		for p.After = c.After; ; {
			cleaned, err := p.page(ctx)
			if !yield(cleaned, err) || err != nil || cleaned.Next == "" {
				return
			}
			p.After = cleaned.Next
		}
	}
}

// pass is one way through a table, from page to page.
type pass[E any] struct {
	Table[E]
	store.Cleaning

	reads, writes *pace
}

// page reads a page and deletes what has expired of it. Beside an error it says what was done, and has no Next: who goes on repeats
// the page.
func (p *pass[E]) page(ctx context.Context) (store.Cleaned, error) {
	if err := p.reads.take(ctx, 0); err != nil {
		return store.Cleaned{}, ended(err)
	}
	found, err := p.Page(ctx, p.After, p.PageSize)
	if err != nil {
		return store.Cleaned{}, err
	}
	p.reads.spent(found.Units)
	done := tally{Cleaned: store.Cleaned{Read: found.Read, Kept: found.Kept, ReadUnits: found.Units}}
	p.deleteAll(ctx, found.Expired, &done)
	if done.err != nil {
		return done.Cleaned, done.err
	}
	done.Next = found.Next
	return done.Cleaned, nil
}

// deleteAll deletes items, some at once. After a failure it begins no other deletion, and those under way end.
func (p *pass[E]) deleteAll(ctx context.Context, items []E, done *tally) {
	todo := make(chan E)
	var group sync.WaitGroup
	for range min(concurrency, len(items)) {
		group.Go(func() {
			for it := range todo {
				if !done.failed() {
					done.count(p.delete(ctx, it))
				}
			}
		})
	}
	for _, it := range items {
		todo <- it
	}
	close(todo)
	group.Wait()
}

// delete deletes an item when its turn has come.
func (p *pass[E]) delete(ctx context.Context, it E) (Deletion, error) {
	if p.DryRun {
		if err := p.reads.take(ctx, 0); err != nil {
			return Deletion{}, ended(err)
		}
		d, err := p.Delete(ctx, it, true)
		p.reads.spent(d.ReadUnits)
		return d, err
	}
	if err := p.writes.take(ctx, leastUnits); err != nil {
		return Deletion{}, ended(err)
	}
	d, err := p.Delete(ctx, it, false)
	p.reads.spent(d.ReadUnits)
	p.writes.spent(max(d.WriteUnits-leastUnits, 0))
	return d, err
}

// ended is how a pass ends whose context does.
func ended(err error) error {
	return &store.Error{Op: opClean, Kind: store.FailureTimeout, NotApplied: true, Err: err}
}

// tally is what became of a page so far.
type tally struct {
	store.Cleaned

	mu  sync.Mutex
	err error
}

func (t *tally) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil
}

func (t *tally) count(d Deletion, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ReadUnits += d.ReadUnits
	t.WriteUnits += d.WriteUnits
	switch {
	case err != nil && t.err == nil:
		t.err = err
	case err != nil:
	case d.Deleted:
		t.Deleted++
	case d.Kept:
		t.Kept++
	}
}
