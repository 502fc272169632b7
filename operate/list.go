package operate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

// Query says what to list. Its zero value is all records that somebody has to settle.
type Query struct {
	_ struct{} // literals name their fields: more may come

	// States are those that are wanted. None means what somebody has to settle, see [Shown]. Any
	// state but StateUnknown needs Scan.
	States []State
	// NotDue adds, without States, the records that were released with steps and are not due yet.
	NotDue bool
	// Operation restricts the listing to one operation; empty means all.
	Operation string
	// OlderThan, unless 0, restricts the listing to records that became what they are at least so
	// long ago, see [Shown].
	OlderThan time.Duration

	// Scan allows the listing to read every record of the store. See [Operator.Cost] before.
	Scan bool
	// PageSize, Rate and Page are those of [store.Query].
	PageSize int
	Rate     float64
	Page     func(store.Page)
}

// List yields what the query asks for, without results and steps. It may be stale:
// [Operator.Inspect] a record before anything is done to it. A record has the fields that
// [store.Lister] names; one with attention was read by itself.
//
// The pages, the waits between them and the errors are those of [store.Lister]. A
// [*store.UnreadableError] is about one record, whose key is in the [Shown] beside it, and the
// listing goes on. A query without the Scan that it needs is [ErrNeedsScan], a bad one [ErrInput].
func (o *Operator) List(ctx context.Context, q Query) iter.Seq2[Shown, error] {
	return func(yield func(Shown, error) bool) {
		sq, err := o.query(q)
		if err != nil {
			yield(Shown{}, err)
			return
		}
		for r, err := range o.records(ctx, sq) {
			found := o.show(r)
			_, unreadable := errors.AsType[*store.UnreadableError](err)
			switch {
			case err != nil:
				if !yield(Shown{Record: store.Record{Key: r.Key}}, failed("list", err)) || !unreadable {
					return
				}
			case wanted(q, found) && (q.OlderThan == 0 || !found.Since.After(found.At.Add(-q.OlderThan))):
				found.Record.Result, found.Record.Parts, found.Record.Steps, found.read = nil, "", nil, nil
				if !yield(found, nil) {
					return
				}
			}
		}
	}
}

const mostAtOnce = 32

// records yields what the store lists. What the index has, and what has attention that may mean
// something, it reads. What is gone, or may still run, is left out. Beside an error a record has
// its key.
func (o *Operator) records(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var batch []*entry
		flush := func() bool {
			o.read(ctx, q, batch)
			for _, e := range batch {
				if (e.found || e.err != nil) && !yield(e.record, e.err) {
					return false
				}
			}
			batch = batch[:0]
			return true
		}
		full := 1 // who wants one record only does not wait for many
		for r, err := range store.ListerOf(o.store).List(ctx, q) {
			batch = append(batch, &entry{r, true, err})
			if len(batch) < full {
				continue
			}
			if full = min(2*full, mostAtOnce); !flush() {
				return
			}
		}
		flush()
	}
}

type entry struct {
	record store.Record
	found  bool
	err    error
}

func (o *Operator) read(ctx context.Context, q store.Query, batch []*entry) {
	var reading sync.WaitGroup
	defer reading.Wait()
	for _, e := range batch {
		switch mayRun := life.MayRun(e.record, o.now()); {
		case e.err != nil || !q.Index && (e.record.Attention == "" || mayRun):
		case mayRun:
			e.found = false
		default:
			reading.Go(func() {
				key := e.record.Key
				e.record, e.found, e.err = o.store.Get(ctx, key)
				e.record.Key = key
			})
		}
	}
}

// Cost tells what [Operator.List] with this query would read: with Scan, all records of the store.
// Beside that, each record that the index names is read by itself.
func (o *Operator) Cost(ctx context.Context, q Query) (store.Cost, error) {
	sq, err := o.query(q)
	if err != nil {
		return store.Cost{}, err
	}
	c, err := store.ListerOf(o.store).ListCost(ctx, sq)
	if err != nil {
		return store.Cost{}, failed("cost", err)
	}
	return c, nil
}

func failed(what string, err error) error {
	if errors.Is(err, store.ErrNoIndex) {
		return fmt.Errorf("%w: %w", ErrNeedsScan, err)
	}
	return fmt.Errorf("operate: %s: %w", what, err)
}

func (o *Operator) query(q Query) (store.Query, error) {
	for _, s := range q.States {
		if !slices.Contains(States(), s) {
			return store.Query{}, bad("state", "%q is none of %q", s, States())
		}
	}
	switch {
	case q.OlderThan < 0:
		return store.Query{}, bad("age", "%s is negative", q.OlderThan)
	case q.PageSize < 0:
		return store.Query{}, bad("page size", "%d is negative", q.PageSize)
	case q.Rate < 0:
		return store.Query{}, bad("rate", "%v is negative", q.Rate)
	}
	sq := store.Query{Operation: q.Operation, PageSize: q.PageSize, Rate: q.Rate, Page: q.Page}
	if !q.Scan {
		if slices.ContainsFunc(q.States, func(s State) bool { return s != StateUnknown }) {
			return store.Query{}, fmt.Errorf("%w: the index knows only records that are %s, and those %s with steps",
				ErrNeedsScan, StateUnknown, StateReleased)
		}
		sq.Index, sq.Attention = true, true // not by when they are asked about: that moves
		return sq, nil
	}
	if q.OlderThan > 0 {
		sq.CreatedBefore = o.now().Add(-q.OlderThan)
	}
	states := q.States
	if len(states) == 0 {
		states = []State{StateUnknown, StateReleased}
	}
	for _, s := range states {
		status, only := statusOf[s]
		if !only {
			sq.Statuses = nil
			break
		}
		if !slices.Contains(sq.Statuses, status) {
			sq.Statuses = append(sq.Statuses, status)
		}
	}
	return sq, nil
}

// wanted leaves out what was settled meanwhile, and states that share a status.
func wanted(q Query, s Shown) bool {
	if len(q.States) == 0 {
		return s.Due || q.NotDue && life.WaitsLater(*s.read, s.At)
	}
	return slices.Contains(q.States, s.State)
}
