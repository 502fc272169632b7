package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/store"
)

var protocolRules = []rule{
	// It is about records whose handler has returned a result: no release makes room
	// for a second execution. One whose commit has failed has no result.
	{"I7 a record whose handler has a result is not released", on{evChanged: func(w *world, e *event) string {
		has := e.d != w.operator.self && e.d.returned && e.d.answers() && !e.d.spoiled() && e.d.uses(e.before.Owner)
		return when(has && (e.after == nil || e.after.Reason == store.ReasonReleased),
			"releases the record, and its handler has a result")
	}}},
	{"I1 a lease only grows", on{evReplaced: func(_ *world, e *event) string {
		b, a := e.before, e.after
		same := b.Status == store.StatusInProgress && a.Status == b.Status && a.Owner == b.Owner
		return when(same && a.Lease.Before(b.Lease), "moves the lease of its owner back")
	}}},
	{"I4 no lease is renewed for ever where there is a deadline", on{evLeft: func(_ *world, e *event) string {
		renews := !e.d.client.NoDeadline && e.d.callName(e.call) == Renewal
		return when(renews && e.after.Lease.After(e.d.started.Add(endless)), "goes on for ever")
	}}},
	// It looks at timed worlds only: in the others the lease ends by one clock and
	// the deadline by another.
	{"I1 no handler starts under a lease that is used up", on{evBegan: func(w *world, e *event) string {
		if !w.Timed {
			return ""
		}
		least := margin // what is left of it at the deadline
		if e.d.client.NoDeadline {
			least = protocol.DefaultLease / 2 // what a claim within its budget leaves at least
		}
		held := w.held()
		if held == nil || held.Owner != e.d.owner {
			return "under a lease that somebody else has"
		}
		left := held.Lease.Sub(w.now)
		return when(left < least, "under a lease of which %v is left", left)
	}}},
	{"I1 of several marks the most cautious counts", on{evChanged: func(_ *world, e *event) string {
		if !e.d.returned || !e.d.uses(e.before.Owner) {
			return ""
		}
		became := "released"
		if e.after != nil {
			became = string(e.after.Status)
		}
		switch e.d.callName(e.call) {
		case StepRecord, StepMark, Commit, Fence, Renewal:
			return "" // which was sent before
		default:
		}
		fits := true
		switch e.d.mark() {
		case FailsUncertain:
			fits = e.after != nil && e.after.Status == store.StatusUnknown
		case FailsTerminal:
			fits = e.after != nil
		case FailsNotExecuted:
			_, open := e.d.open(e.before)
			fits = open || e.after == nil || e.after.Owner != e.d.owner
		default:
		}
		return when(!fits, "leaves a record that is %s, and its handler %s", became, e.d.ending)
	}}},
	{"I4 what has expired decides nothing", on{
		evWritten: func(_ *world, e *event) string {
			shown := e.d.shown
			decides := e.Op == opSwap && !e.d.began && !e.d.asking.taken && shown.Key != "" &&
				e.Seen.Owner == shown.Owner
			return when(decides && expired(shown, e.d.shownAt), "keeps a record that has expired")
		},
		evAnswered: func(_ *world, e *event) string {
			d := e.d
			decided := errors.Is(d.err, idempotent.ErrMismatch) || errors.Is(d.err, idempotent.ErrUnknownOutcome) ||
				errors.Is(d.err, idempotent.ErrInProgress) && d.event.Wait.Took == 0
			return when(decided && !d.began && !d.resolved && d.shown.Key != "" && expired(d.shown, d.shownAt),
				"because of a record that has expired")
		},
	}},
	{"I4 a handler that did nothing leaves nothing that blocks", on{evAnswered: func(w *world, e *event) string {
		d, held := e.d, w.held()
		if !d.returned || d.mark() != FailsNotExecuted || !w.faultless() || d.landed() >= 0 {
			return ""
		}
		if _, open := d.open(held); open || held != nil && len(held.Steps) > 0 && !d.clock().Before(d.lease) {
			return ""
		}
		return when(held != nil && held.Owner == d.owner, "after it did nothing, and its record stays")
	}}},
	{"I4 a running transaction is no outage and is left alone", on{
		evSent: func(_ *world, e *event) string {
			return when(e.Op == opClaim && e.d.refused,
				"follows one that met a transaction, and nothing was read between")
		},
		evAnswered: func(_ *world, e *event) string {
			return when(e.d.refused && errors.Is(e.d.err, idempotent.ErrStoreUnavailable), "because of a transaction")
		},
	}},
	{"I5 an undo leaves what was seen and nothing of its own", on{evChanged: func(w *world, e *event) string {
		if !e.d.uses(e.before.Owner) || e.d.took == nil || !e.undoes() {
			return ""
		}
		a, took := e.after, e.d.took
		switch {
		case a == nil:
			return "deletes what it had taken over"
		case a.Status != took.Status || a.Reason != took.Reason || a.Fingerprint != took.Fingerprint ||
			a.Attempt != took.Attempt:
			return "leaves something else than it saw"
		case e.d.uses(a.Owner) || a.Owner == took.Owner:
			return "leaves an owner that something may still be on its way from"
		case a.Lease.After(e.d.clock()):
			return "leaves a lease that lives"
		case took.Status == store.StatusInProgress && took.Reason != store.ReasonReleased && a.Lease.Before(took.Lease):
			return "leaves a lease that is older than the one it saw"
		}
		return when(w.nameOfToken(a.Owner) != "", "leaves the token of %s", w.nameOfToken(a.Owner))
	}}},
	{"I7 who has executed never says otherwise", on{evAnswered: func(_ *world, e *event) string {
		denied := false
		for _, denial := range []error{
			idempotent.ErrInProgress, idempotent.ErrStoreUnavailable, idempotent.ErrMismatch, idempotent.ErrUnreadable,
			idempotent.ErrUnknownOutcome,
		} {
			denied = denied || errors.Is(e.d.err, denial)
		}
		own := e.d.own != nil && e.d.err == e.d.own //nolint:errorlint // the very value
		return when(e.d.began && denied && !own, "although it has executed")
	}}},
	{"I7 no lease is given up that can be held", on{evPassed: func(w *world, _ *event) string {
		held := w.held()
		for _, d := range w.deliveries {
			if d.dead || d.at != atEnding || d.failedRenewals >= hopeless || !leaseLost(d) {
				continue
			}
			if held != nil && held.Owner == d.owner && held.Status == store.StatusInProgress {
				return fmt.Sprintf("the context of %s says that its lease is lost, which it is not; renewals that "+
					"failed: %d", d.name, d.failedRenewals)
			}
		}
		return ""
	}}},
	{"I1 no record expires under its lease", on{evLeft: func(w *world, e *event) string {
		outlived := e.after.Status == store.StatusInProgress && e.after.Expiry.Before(e.after.Lease)
		return when(outlived && w.nameOfToken(e.after.Owner) != "", // nobody's lease has ended
			"leaves a record that expires before its lease ends")
	}}},
}

// when is a text if something is so, and else "".
func when(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// faultless reports whether nothing has gone wrong so far.
func (w *world) faultless() bool { return w.MaxFaults == w.given.MaxFaults }

// expired reports whether a record counts no more at the instant now. A lease that lives outranks
// the expiry.
func expired(r store.Record, now time.Time) bool {
	return !now.Before(r.Expiry) && (r.Status != store.StatusInProgress || r.Lease.IsZero() || !now.Before(r.Lease))
}

// superseded reports whether err says that its delivery executed and lost its lease to one that
// runs.
func superseded(err error) bool {
	return errors.Is(err, idempotent.ErrSuperseded)
}

// longestLease is the longest of the leases that clients take.
func (w *world) longestLease() (longest time.Duration) {
	if w.Timed {
		longest = protocol.DefaultLease // which a renewal may take
	}
	for _, c := range w.clients {
		longest = max(longest, c.longest())
	}
	return longest
}

// nameOfToken is whose token it is, "" if it is nobody's.
func (w *world) nameOfToken(token string) string {
	for _, d := range w.deliveries {
		if d.uses(token) {
			return d.name
		}
	}
	return ""
}

// hopeless is how many renewals in a row have to fail before a lease may be given up.
const hopeless = 3

// leaseLost reports whether the context of a handler has ended because its lease was lost.
func leaseLost(d *delivery) bool { return errors.Is(context.Cause(d.hctx), idempotent.ErrLeaseLost) }
