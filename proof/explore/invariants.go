package explore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

var guaranteeRules = []rule{
	{"I1 one execution is committed, and none starts beside a live one", on{
		evLeft: func(w *world, e *event) string {
			if e.after.Status != store.StatusCompleted {
				return ""
			}
			for _, c := range w.commits {
				if e.d.clock().Before(c.expiry) && c.to == 0 {
					return fmt.Sprintf("stores %q although %s committed %q", answerIn(*e.after), c.by.name, c.answer)
				}
			}
			return ""
		},
		evBegan: func(w *world, e *event) string {
			for _, c := range w.commits {
				if e.d.clock().Before(c.expiry) {
					return "although " + c.by.name + " has committed"
				}
			}
			for _, x := range w.deliveries {
				if x == e.d || !x.began || x.released {
					continue
				}
				if why := w.forbids(x); why != "" {
					return "although " + why
				}
			}
			return ""
		},
	}},
	{"I2 a replay is the first result", on{
		evChanged: storedResultStays,
		evRemoved: storedResultStays,
		// It compares an answer with what was stored while the delivery was under way, and with
		// what others got.
		evAnswered: func(w *world, e *event) string {
			d := e.d
			stored := d.event.Settlement == report.Completed
			found := slices.ContainsFunc(w.commits, func(c commit) bool {
				during := c.to == 0 || c.to > d.from
				return during && c.answer == d.answer() && (!stored || c.by == d)
			})
			if (d.event.Outcome == report.Replayed || stored) && !found {
				return "which is not what was stored"
			}
			if d.err != nil || d.panicked != nil || !w.faultless() || w.expired || w.unknown {
				return ""
			}
			for _, x := range w.deliveries {
				if x.at == atEnd && !x.dead && !x.asks() && x.err == nil && x.panicked == nil &&
					x.answer() != d.answer() {
					return fmt.Sprintf("and %s got %q", x.name, x.answer())
				}
			}
			return ""
		},
	}},
	{"I3 another fingerprint never executes and never gets the result", on{
		evReplaced: func(_ *world, e *event) string {
			anew := e.Op == opClaim && expired(*e.before, e.d.clock())
			return when(!anew && e.before.Fingerprint != e.after.Fingerprint, "replaces the record of another request")
		},
		evBegan: func(w *world, e *event) string {
			held := w.held()
			return when(held != nil && held.Owner == e.d.owner && held.Fingerprint != e.d.fingerprint,
				"under the record of another request")
		},
		evAnswered: func(_ *world, e *event) string {
			d := e.d
			if d.err == nil && d.panicked == nil && d.receipt.Amount != d.order.Amount {
				return fmt.Sprintf("and asked for %d", d.order.Amount)
			}
			return when(errors.Is(d.err, idempotent.ErrMismatch) && d.shown.Fingerprint == d.fingerprint,
				"and is no other request")
		},
	}},
	{"I4 no key stays blocked longer than its lease", on{
		evLeft: func(_ *world, e *event) string {
			return when(e.d.restored && e.Op == opSwap && e.takes(),
				"comes back after it was undone, and blocks the key")
		},
		evAnswered: func(w *world, e *event) string {
			d := e.d
			running, ok := errors.AsType[*idempotent.Error](d.err)
			if ok && errors.Is(d.err, idempotent.ErrInProgress) {
				// It is reckoned from the time at which the store was asked.
				switch longest := w.longestLease() + w.now.Sub(d.started) + w.skew() + w.fences; {
				case running.RetryAfter <= 0 && d.event.Wait.Took == 0: // after a wait the key may be free too late
					return "and has to wait for a lease that has ended"
				case running.RetryAfter > longest:
					return fmt.Sprintf("and has to wait for %v", running.RetryAfter)
				}
			}
			held := w.held()
			replayed := d.err == nil || errors.As(d.err, new(*idempotent.ReplayedError))
			unknown := errors.Is(d.err, idempotent.ErrUnknownOutcome) && held != nil &&
				held.Status == store.StatusUnknown
			// What has expired decides nothing: that bounds what is unknown.
			return when(d.last && !replayed && !unknown && !errors.Is(d.err, idempotent.ErrMismatch),
				"and comes after everything")
		},
	}},
	{"I5 a stale owner changes nothing", on{evChanged: func(w *world, e *event) string {
		if e.d.uses(e.before.Owner) || e.d == w.operator.self { // I11
			return ""
		}
		b, now := e.before, e.d.clock()
		switch {
		case e.after == nil:
			return "deletes the record of someone else"
		case b.Status == store.StatusInProgress && b.Unheld(now): // anybody's
			return ""
		case e.Op == opClaim && expired(*b, now):
			return ""
		case b.Status == store.StatusUnknown && (w.Resolver || e.d.asks()) && e.takes(): // to be settled
			return ""
		}
		return "changes the record of someone else"
	}}},
	{"I6 no execution without a claim", on{evBegan: func(w *world, e *event) string {
		switch held := w.held(); {
		case !e.d.claimed:
			return "without a claim"
		case e.d.undone:
			return "although it has undone its claim"
		case e.d.began:
			return "twice"
		case held != nil && held.Owner == e.d.owner && held.Status != store.StatusInProgress:
			return fmt.Sprintf("under a record that is %s", held.Status)
		case w.protects(e.d) && (held == nil || held.Owner != e.d.owner):
			return "although the record is not its own"
		}
		return ""
	}}},
	{"I7 no failure hides the handler's result", on{evAnswered: func(w *world, e *event) string {
		d := e.d
		if w.commitCounts(d) {
			return "" // I9 says how
		}
		if d.panicked != nil && (!d.returned || d.ending != Panics || d.panicked != d.name) {
			return "and its handler did not panic"
		}
		if !d.returned {
			return ""
		}
		theirs := d.shown.Owner != d.owner && d.shown.Key != ""
		stored := d.answers() || d.mark() == FailsTerminal
		lost := d.ending == FailsInStep && errors.Is(d.own, idempotent.ErrLeaseLost) && !w.protects(d)
		switch {
		case lost && theirs && (d.event.Outcome == report.Replayed || superseded(d.err)):
			return "" // it had nothing of its own to tell
		case stored && theirs && d.event.Outcome == report.Replayed:
			return "" // I2 compares it
		case stored && theirs && superseded(d.err) && (!w.protects(d) || w.operator.deleted()):
			return ""
		case !d.hasOwnAnswer():
			return fmt.Sprintf("but its handler %s", d.ending)
		}
		return when(stored && w.faultless() && w.protects(d) && !w.hasCommitted(d),
			"which nothing kept from being stored, and it is not")
	}}},
}

// forbids says why nobody may execute after or beside a delivery that has begun, empty if somebody
// may.
func (w *world) forbids(x *delivery) string {
	switch {
	case w.now.Before(x.unknownUntil):
		return "the outcome of " + x.name + " is unknown"
	case !x.unknownUntil.IsZero() || w.hasCommitted(x):
		return ""
	case w.protects(x):
		return x.name + " is live"
	}
	return when(w.Timed && w.isProtected(x), "the handler of %s runs, whose lease can be renewed", x.name)
}

// protects reports whether nobody may execute beside a delivery.
func (w *world) protects(d *delivery) bool { return w.now.Before(w.protectedUntil(d)) }

// protectedUntil is until when nobody may: the end of its lease, or, where clocks differ, at least
// its deadline.
func (w *world) protectedUntil(d *delivery) time.Time {
	if w.skew() > 0 {
		return d.started.Add(timeout)
	}
	return d.lease
}

// A process that has missed its deadline is protected for about a quarter of an hour after its
// beginning: certainly for overrun, and never after endless.
const (
	overrun = 14 * time.Minute
	endless = 17 * time.Minute
)

// isProtected reports whether a heartbeat has to hold the lease of a handler: it runs, and either
// its context has not ended, or it has overrun its deadline and every renewal succeeds.
func (w *world) isProtected(x *delivery) bool {
	switch {
	// a commit takes what is left of the lease
	case x.dead || x.wasFrozen || !x.handling() || x.committer != nil || x.lostInCommit():
		return false
	case x.hctx.Err() == nil:
		return true
	default:
		return !x.client.NoDeadline && !x.troubled && w.now.Before(x.started.Add(overrun))
	}
}

// skew is how far clocks differ.
func (w *world) skew() time.Duration {
	var slowest, fastest time.Duration
	for _, c := range w.clients {
		slowest, fastest = min(slowest, c.Skew), max(fastest, c.Skew)
	}
	return fastest - slowest
}

func (w *world) hasCommitted(d *delivery) bool {
	return slices.ContainsFunc(w.commits, func(c commit) bool { return c.by == d })
}

func storedResultStays(w *world, e *event) string {
	now := w.now
	if e.d != nil {
		now = e.d.clock()
	}
	deletion := e.d == w.operator.self && e.after == nil // it is what that is for
	return when(e.before.Status == store.StatusCompleted && now.Before(e.before.Expiry) && !deletion,
		"changes a stored result")
}

// hasOwnAnswer reports whether the answer is what the handler returned, its error unmarked and not
// wrapped.
func (d *delivery) hasOwnAnswer() bool {
	switch d.ending {
	case Panics:
		return d.panicked == d.name
	case Succeeds, Differs:
		return d.err == nil && d.receipt.By == d.name
	default:
		return d.err == d.own //nolint:errorlint // the very value
	}
}
