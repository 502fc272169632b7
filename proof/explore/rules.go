package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

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
		longest = idempotent.DefaultLease // which a renewal may take
	}
	for _, c := range w.clients {
		longest = max(longest, c.longest())
	}
	return longest
}

func leaseOnlyGrows(_ *world, e *event) string {
	if e.kind != evWritten || e.before == nil || e.after == nil {
		return ""
	}
	b, a := e.before, e.after
	if b.Status != store.StatusInProgress || a.Status != b.Status || a.Owner != b.Owner || !a.Lease.Before(b.Lease) {
		return ""
	}
	return fmt.Sprintf("the %s of %s moves the lease of its owner back by %v", e.by.callName(e.call), e.by.name,
		b.Lease.Sub(a.Lease))
}

// resultIsNotDeleted is about records whose handler has returned a result: no release makes room
// for a second execution. One whose commit has failed has no result.
func resultIsNotDeleted(w *world, e *event) string {
	if e.kind != evWritten || e.by == nil || !e.by.returned || !e.by.answers() || e.before == nil ||
		!e.by.uses(e.before.Owner) ||
		e.by == w.operator.self || e.by.spoiled() {
		return ""
	}
	if e.after == nil || e.after.Reason == store.ReasonReleased {
		return fmt.Sprintf("the handler of %s has a result, and its %s releases the record", e.by.name,
			e.by.callName(e.call))
	}
	return ""
}

func leaseIsNotEndless(_ *world, e *event) string {
	if e.kind != evWritten || e.by == nil || e.by.client.NoDeadline || e.after == nil ||
		e.by.callName(e.call) != Renewal {
		return ""
	}
	if e.after.Lease.After(e.by.started.Add(endless)) {
		return fmt.Sprintf("the lease of %s is renewed %v after its beginning", e.by.name,
			e.by.clock().Sub(e.by.started))
	}
	return ""
}

// leaseIsWholeAtTheStart looks at timed worlds only: in the others the lease ends by one clock and
// the deadline by another.
func leaseIsWholeAtTheStart(w *world, e *event) string {
	if e.kind != evBegan || !w.Timed {
		return ""
	}
	least := margin // what is left of it at the deadline
	if e.d.client.NoDeadline {
		least = idempotent.DefaultLease / 2 // what a claim within its budget leaves at least
	}
	held := w.held()
	if held == nil || held.Owner != e.d.owner {
		return e.d.name + " executes under a lease that somebody else has"
	}
	if left := held.Lease.Sub(w.now); left < least {
		return fmt.Sprintf("%s executes under a lease of which %v is left", e.d.name, left)
	}
	return ""
}

func mostCautiousMarkCounts(_ *world, e *event) string {
	if e.kind != evWritten || e.by == nil || !e.by.returned || e.before == nil || !e.by.uses(e.before.Owner) {
		return ""
	}
	became := "released"
	if e.after != nil {
		became = string(e.after.Status)
	}
	if name := e.by.callName(e.call); name == StepRecord || name == StepMark || name == Commit || name == Fence ||
		name == Renewal {
		return "" // which was sent before
	}
	switch e.by.mark() {
	case FailsUncertain:
		if e.after != nil && e.after.Status == store.StatusUnknown {
			return ""
		}
	case FailsTerminal:
		if e.after != nil {
			return ""
		}
	case FailsNotExecuted:
		if _, open := e.by.open(e.before); open || e.after == nil || e.after.Owner != e.by.owner {
			return ""
		}
	default:
		return ""
	}
	return fmt.Sprintf("the handler of %s %s and its record becomes %s", e.by.name, e.by.ending, became)
}

func expiredDecidesNothing(_ *world, e *event) string {
	switch e.kind {
	case evWritten:
		if e.by != nil && e.op == opSwap && !e.by.began && !e.by.asking.taken && e.by.shown.Key != "" &&
			e.seen.Owner == e.by.shown.Owner &&
			expired(e.by.shown, e.by.shownAt) {
			return fmt.Sprintf("the %s of %s keeps a record that has expired", e.by.callName(e.call), e.by.name)
		}
	case evAnswered:
		d := e.d
		decided := errors.Is(d.err, idempotent.ErrMismatch) || errors.Is(d.err, idempotent.ErrUnknownOutcome) ||
			errors.Is(d.err, idempotent.ErrInProgress) && d.event.Wait.Took == 0
		if decided && !d.began && !d.resolved && d.shown.Key != "" && expired(d.shown, d.shownAt) {
			return fmt.Sprintf("%s is answered %q because of a record that has expired", d.name, d.answer())
		}
	case evBegan, evSent, evPassed, evDone, evStepBegan, evStepped, evCommitted, evAsked, evReconciled, evOver:
	}
	return ""
}

func nothingDoneNothingBlocked(w *world, e *event) string {
	if e.kind != evAnswered || !e.d.returned || e.d.mark() != FailsNotExecuted || w.faults < w.MaxFaults ||
		e.d.landed() >= 0 {
		return ""
	}
	held := w.held()
	if _, open := e.d.open(held); open || held != nil && len(held.Steps) > 0 && !e.d.clock().Before(e.d.lease) {
		return ""
	}
	if held != nil && held.Owner == e.d.owner {
		return fmt.Sprintf("the handler of %s did nothing, and its record stays %s", e.d.name, held.Status)
	}
	return ""
}

func transactionIsNoOutage(_ *world, e *event) string {
	switch {
	case e.kind == evSent && e.op == opClaim && e.d.refused:
		return e.d.name + " meets a transaction and claims again without having read"
	case e.kind == evAnswered && e.d.refused && errors.Is(e.d.err, idempotent.ErrStoreUnavailable):
		return e.d.name + " meets a transaction and takes it for an outage"
	}
	return ""
}

func undoLeavesWhatWasSeen(w *world, e *event) string {
	if e.kind != evWritten || e.by == nil || e.before == nil || !e.by.uses(e.before.Owner) ||
		e.by.took == nil || !e.undoes() {
		return ""
	}
	a, took := e.after, e.by.took
	switch {
	case a == nil:
		return e.by.name + " undoes a takeover and deletes what it had taken over"
	case a.Status != took.Status || a.Reason != took.Reason || a.Fingerprint != took.Fingerprint ||
		a.Attempt != took.Attempt:
		return e.by.name + " undoes a takeover and leaves something else than it saw"
	case e.by.uses(a.Owner) || a.Owner == took.Owner:
		return e.by.name + " undoes a takeover and leaves an owner that something may still be on its way from"
	case a.Lease.After(e.by.clock()):
		return e.by.name + " undoes a takeover and leaves a lease that lives"
	case took.Status == store.StatusInProgress && took.Reason != store.ReasonReleased && a.Lease.Before(took.Lease):
		return e.by.name + " undoes a takeover and leaves a lease that is older than the one it saw"
	case w.nameOfToken(a.Owner) != "":
		return e.by.name + " undoes a takeover and leaves the token of " + w.nameOfToken(a.Owner)
	}
	return ""
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

func executedIsNotDenied(_ *world, e *event) string {
	if e.kind != evAnswered || !e.d.began {
		return ""
	}
	for _, denial := range []error{
		idempotent.ErrInProgress, idempotent.ErrStoreUnavailable, idempotent.ErrMismatch, idempotent.ErrUnreadable,
		idempotent.ErrUnknownOutcome,
	} {
		if errors.Is(e.d.err, denial) && (e.d.own == nil || e.d.err != e.d.own) { //nolint:errorlint // the very value
			return fmt.Sprintf("%s has executed and is answered %q", e.d.name, e.d.answer())
		}
	}
	return ""
}

// hopeless is how many renewals in a row have to fail before a lease may be given up.
const hopeless = 3

// leaseLost reports whether the context of a handler has ended because its lease was lost.
func leaseLost(d *delivery) bool { return errors.Is(context.Cause(d.hctx), idempotent.ErrLeaseLost) }

func leaseIsNotGivenUp(w *world, e *event) string {
	if e.kind != evPassed {
		return ""
	}
	for _, d := range w.deliveries {
		if d.dead || d.at != atEnding || d.failedRenewals >= hopeless || !leaseLost(d) {
			continue
		}
		if held := w.held(); held != nil && held.Owner == d.owner && held.Status == store.StatusInProgress {
			return fmt.Sprintf("the context of %s says that its lease is lost, which it is not; renewals that "+
				"failed: %d", d.name, d.failedRenewals)
		}
	}
	return ""
}
