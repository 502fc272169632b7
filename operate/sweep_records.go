package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// settings tells two passes apart that find other things: who goes on with a pass must not leave out what the beginning did not look for.
func (c SweepConfig) settings() string {
	refuse := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Effects)), func(operation string) bool {
		return c.Effects[operation] != idempotent.Unrepeatable
	})
	return strings.Join(refuse, " ")
}

// pageUnits is what a page takes at most where reading costs anything: DynamoDB reads 1 MB at once.
const pageUnits = 128

// sweepLease is for how long a run may show no sign of life beyond what it waits for its rates.
const sweepLease = 30 * time.Second

// leaseOf is the lease of a pass.
func (w *sweep) leaseOf() time.Duration {
	waits := pageUnits / w.config.Rate
	return sweepLease + time.Duration(min(waits, sweepMaxWait.Seconds())*float64(time.Second))
}

// sweepMaxWait bounds the lease where a rate is next to nothing. Should another sweep take over then, this one ends.
const sweepMaxWait = time.Hour

// records goes through all records behind a page. The store waits between two pages; beside that the rate bounds the single looks.
func (w *sweep) records(ctx context.Context, after string, c *cursor) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	begun, behind := false, after
	q := store.Query{
		Statuses: []store.Status{store.StatusInProgress, store.StatusUnknown},
		After:    after, PageSize: w.config.PageSize, Rate: limit(w.config.Rate),
		Page: func(p store.Page) {
			if begun { // all records of the page before were looked at
				if err := c.advance(ctx, behind); err != nil {
					stop(err)
					return
				}
				w.told(ctx)
			}
			begun, behind = true, p.Next
			if err := w.turn(ctx, p); err != nil {
				stop(err)
			}
		},
	}
	for listed, err := range store.ListOf(ctx, w.store, q) {
		_, unreadable := errors.AsType[*store.UnreadableError](err)
		ended := context.Cause(ctx)
		switch {
		case ended != nil && (err == nil || unreadable):
			return ended
		case unreadable:
			w.swept.Unreadable++
			w.problem(listed.Key, err)
		case err != nil: // it comes before a page, so the one before was looked at
			c.reached(behind)
			return cmp.Or(ended, fmt.Errorf("operate: sweep: %w", err))
		case listed.Operation() == SweepOperation || w.sight(listed) == sightNothing:
		default:
			if err := w.look(ctx, listed.Key, c); err != nil {
				return err
			}
		}
	}
	if ended := context.Cause(ctx); ended != nil { // in the last page, which had nothing to look at
		return ended
	}
	w.told(ctx)
	return nil
}

// turn counts a page that was read, and waits for what the single looks at records of earlier pages took beside the pages: the store, which
// waits between pages, does not know of them. The page itself is looked at before it is waited for, so that a run with little time comes
// further.
func (w *sweep) turn(ctx context.Context, p store.Page) error {
	w.swept.Pages++
	w.swept.Records += p.Records
	w.swept.ReadUnits += p.Units
	err := w.reads.wait(ctx)
	w.reads.spend(p.Units)
	return err
}

// look reads one record, and does what is due. What goes wrong with it ends the pass only if it would go wrong with every other one.
func (w *sweep) look(ctx context.Context, key string, c *cursor) error {
	if err := c.keep(ctx); err != nil {
		return err
	}
	err := w.visit(ctx, key)
	_, unreadable := errors.AsType[*store.UnreadableError](err)
	switch ended := context.Cause(ctx); {
	case err == nil:
		w.failing = 0
		return nil
	case ended != nil:
		return ended
	case unreadable:
		w.swept.Unreadable++
	default:
		w.swept.Errors++
		w.failing++
	}
	w.problem(key, err)
	if w.failing >= maxSweepFailing || hopeless(err) {
		return fmt.Errorf("operate: sweep: %w", err)
	}
	return nil
}

// maxSweepFailing is how many records may fail one after the other before a run ends.
const maxSweepFailing = 10

func (w *sweep) visit(ctx context.Context, key string) error {
	if err := w.looks.wait(ctx); err != nil {
		return err
	}
	var r store.Record
	var found bool
	err := persist(ctx, func(ctx context.Context) (err error) {
		w.looks.spend(1)
		w.reads.spend(1)
		w.swept.ReadUnits++
		r, found, err = w.store.Get(ctx, key)
		return err
	})
	if err != nil || !found {
		return err
	}
	return w.settle(ctx, r)
}

// settle does what is due to a record that was read consistently.
func (w *sweep) settle(ctx context.Context, r store.Record) error {
	saw := w.sight(r)
	refuses := w.config.Effects[r.Operation()] == idempotent.Unrepeatable
	count := func(f func(*SweptOperation)) { w.swept.count(r.Operation(), f) }
	switch {
	case saw == sightNothing, saw == sightReleased && len(r.Steps) == 0:
		return nil
	case saw == sightReleased:
		count(func(o *SweptOperation) { o.Abandoned++ })
		return nil
	case saw == sightUnlisted:
		return w.change(ctx, r, w.listed(r), func() { count(func(o *SweptOperation) { o.Listed++ }) })
	case saw == sightUnsettled, refuses && (!r.Resumable() || r.Unmarked) && !foreign(r):
		return w.change(ctx, r, w.unknown(r), func() {
			count(func(o *SweptOperation) { o.Lapsed, o.BecameUnknown = o.Lapsed+1, o.BecameUnknown+1 })
		})
	}
	count(func(o *SweptOperation) {
		o.Lapsed++
		if len(r.Steps) > 0 {
			o.Abandoned++
		}
	})
	if refuses && foreign(r) {
		w.swept.Foreign++
	}
	return nil
}

// foreign reports whether AWS Powertools wrote a record: nothing tells whether its execution still runs.
func foreign(r store.Record) bool { return r.Owner == "" || r.Lease.IsZero() }

// sight is what a record is to a sweep.
type sight int

const (
	sightNothing   sight = iota
	sightReleased        // it was released, and is due
	sightLapsed          // its execution ended without saying how, and nobody came
	sightUnsettled       // it was UNKNOWN, and whoever was to settle it has died
	sightUnlisted        // it is UNKNOWN, and on no list
)

// sight judges a record, also one of a listing, which has no steps and may be stale.
func (w *sweep) sight(r store.Record) sight {
	now := w.config.Clock()
	switch {
	case r.Claimable(now):
		return sightNothing
	case r.Status == store.StatusUnknown && r.Attention == "":
		return sightUnlisted
	case r.Status != store.StatusInProgress:
		return sightNothing
	case r.Reason == store.ReasonReleased:
		return sightIf(store.Reached(dueAt(r), now), sightReleased)
	case !store.Reached(r.ProtectedUntil().Add(w.config.Grace), now):
		return sightNothing
	case r.Released():
		return sightIf(store.Reached(dueAt(r), now), sightReleased)
	case r.Reason != "":
		return sightUnsettled
	default:
		return sightLapsed
	}
}

func sightIf(holds bool, s sight) sight {
	if holds {
		return s
	}
	return sightNothing
}

// dueAt is when somebody has to care about a record that was released. A version before the attention index did not write it down.
func dueAt(r store.Record) time.Time {
	if r.AttentionAt.IsZero() {
		return r.Lease.Add(store.ReleasedWait)
	}
	return r.AttentionAt
}

// unknown is a lapsed record as the next request would make it. The owner stays: it may still bring the result. A record that was UNKNOWN
// before is as it was, also for whoever asks about it.
func (w *sweep) unknown(r store.Record) store.Record {
	r.Status, r.Reason = store.StatusUnknown, cmp.Or(r.Reason, store.ReasonCrashed)
	r.Steps = nil // those of the record stay
	kept := store.RoundUp(w.config.Clock().Add(w.config.UnknownRetention), time.Second)
	if kept.After(r.Expiry) {
		r.Expiry = kept
	}
	if r.Attention != "" {
		return r
	}
	return w.listed(r)
}

// listed is a record with attention from now on.
func (w *sweep) listed(r store.Record) store.Record {
	r.Steps = nil // those of the record stay
	r.Attention, r.AttentionAt = store.AttentionOf(r.Key), w.config.Clock().Truncate(time.Millisecond)
	return r
}

// changeUnits is what it takes to change a record and its entry in the index.
const changeUnits = 2

// change writes next if the record still is the one that was seen, and counts it.
func (w *sweep) change(ctx context.Context, seen, next store.Record, count func()) error {
	if w.config.DryRun {
		count()
		return nil
	}
	if err := w.writes.wait(ctx); err != nil {
		return err
	}
	var held store.Record
	var swapped bool
	err := persist(ctx, func(ctx context.Context) (err error) {
		w.writes.spend(changeUnits)
		w.swept.WriteUnits += changeUnits
		held, swapped, err = w.store.Swap(ctx, seen, next)
		return err
	})
	switch {
	case err != nil:
		return err
	case swapped, landed(held, next): // or its reply was lost
		count()
	default:
		w.swept.Changed++
	}
	return nil
}

// landed reports whether a record that refused a write is what the write made of it. The owner in it is not ours, so the instant tells.
func landed(held, next store.Record) bool {
	return held.Status == next.Status && held.Owner == next.Owner && held.Reason == next.Reason &&
		held.Attention == next.Attention && held.AttentionAt.Equal(next.AttentionAt)
}

// persist repeats what fails and may pass. A write is repeated as it is: what its first try has done refuses the second.
func persist(ctx context.Context, do func(context.Context) error) error {
	pause := 100 * time.Millisecond
	for try := 1; ; try++ {
		err := do(ctx)
		if err == nil || try == maxPersist || !store.MayPass(err) || sleep(ctx, pause) != nil {
			return err
		}
		pause *= 2
	}
}

const maxPersist = 4

// hopeless reports whether a failure would meet every other record, too.
func hopeless(err error) bool {
	failed, ok := errors.AsType[*store.Error](err)
	return ok && (failed.Kind == store.FailureAccessDenied || failed.Kind == store.FailureMissingTable)
}

func (w *sweep) problem(key string, err error) {
	if len(w.swept.Problems) < maxSweepProblems {
		w.swept.Problems = append(w.swept.Problems, SweepProblem{RecordKey: key, Err: err})
	}
}
