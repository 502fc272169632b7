package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// Open is what waits for somebody in a table, as it was when the table was listed last.
type Open struct {
	// Name is what the table is called.
	Name string
	// At is when it was listed, zero if it never could be.
	At time.Time
	// Waiting are the operations of which something waits. More is true if there is more than was counted.
	Waiting []Waiting
	More    bool
	// Problem says why the table cannot be listed, since Since and in so many Tries; empty if it can.
	Problem string
	Since   time.Time
	Tries   int
}

// Waiting is how many records of an operation somebody has to settle, and since when the first one waits, of those that do not wait for the next
// question of a reconciliation; zero if all do.
type Waiting struct {
	Operation string
	// Parked are those of Open about which a reconciliation does not ask any more. Unreadable cannot be understood.
	Open, Parked, Unreadable int
	Since                    time.Time
}

// The bounds of a listing that runs again and again.
const (
	maxListed = 10_000
	listRate  = 100 // read units a second
)

// List asks through the index what is open now. The result is o, updated; a listing that fails leaves what is known, and says why it failed.
func (o *Open) List(ctx context.Context, operator *operate.Operator, now func() time.Time, sentence func(error) string) Open {
	waiting, more, err := list(ctx, operator, now())
	next := *o
	if err != nil {
		if o.Problem == "" {
			next.Since, next.Tries = now(), 0
		}
		next.Problem, next.Tries = sentence(err), next.Tries+1
		return next
	}
	return Open{Name: o.Name, At: now(), Waiting: waiting, More: more}
}

func list(ctx context.Context, operator *operate.Operator, now time.Time) (waiting []Waiting, more bool, err error) {
	all := make(map[string]*Waiting)
	listed := 0
	for found, err := range operator.List(ctx, operate.Query{Rate: listRate}) {
		_, unreadable := errors.AsType[*store.UnreadableError](err)
		switch {
		case err != nil && !unreadable:
			return nil, false, err
		case listed == maxListed:
			return sorted(all), true, nil
		}
		listed++
		waitingOf(all, found.Record).add(found.Record, now, unreadable)
	}
	return sorted(all), false, nil
}

// waitingOf finds those of an operation, or those of the rest if there are too many.
func waitingOf(all map[string]*Waiting, r store.Record) *Waiting {
	name := r.Operation()
	if all[name] == nil && len(all) >= maxSubjects {
		name = rest
	}
	if all[name] == nil {
		all[name] = &Waiting{Operation: name}
	}
	return all[name]
}

func (w *Waiting) add(r store.Record, now time.Time, unreadable bool) {
	if unreadable {
		w.Unreadable++
		return
	}
	w.Open++
	if r.Parked() {
		w.Parked++
	}
	if !r.AttentionAt.IsZero() && !r.AttentionAt.After(now) && (w.Since.IsZero() || r.AttentionAt.Before(w.Since)) {
		w.Since = r.AttentionAt
	}
}

func sorted(all map[string]*Waiting) []Waiting {
	waiting := make([]Waiting, 0, len(all))
	for _, w := range all {
		waiting = append(waiting, *w)
	}
	slices.SortFunc(waiting, func(a, b Waiting) int { return cmp.Compare(a.Operation, b.Operation) })
	return waiting
}

func (o *Open) warnings(now time.Time) []warning {
	if o == nil || o.Problem == "" {
		return nil
	}
	known := "what is open is not known"
	if !o.At.IsZero() {
		known = "what is open is as it was " + brief(now.Sub(o.At)) + " ago"
	}
	return []warning{warning(fmt.Sprintf("The table cannot be listed for %s, in %s: %s; %s.",
		brief(now.Sub(o.Since)), tries(o.Tries), ascii(o.Problem), known))}
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}
