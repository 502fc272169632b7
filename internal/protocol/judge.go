package protocol

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// judgement is what a held record means for this delivery.
type judgement struct {
	verdict verdict
	// move is what is due, result is the answer that stands.
	move   move
	result Result
}

type verdict int

const (
	verdictAnswer verdict = iota // the result stands
	verdictOurs                  // the record is our own claim, whose reply was lost
	verdictMove                  // another write is due
	verdictReplay                // the record holds the result to replay
)

// move is one conditional write of a claim.
type move struct {
	kind moveKind
	// seen and next are the arguments of Swap; a claim has only next.
	seen, next store.Record
}

type moveKind int

const (
	moveClaim    moveKind = iota // take a key that nobody holds
	moveTakeOver                 // take a record that lapsed, or that a resolver is to settle
	moveRefuse                   // turn a lapsed record into UNKNOWN
	moveLook                     // read the record, for an inquiry
)

// judge is the one place where a held record is interpreted before the handler runs. It only decides, and does no I/O. The
// zero record says that the one that refused is gone.
func (d *Delivery) judge(held store.Record, now time.Time) judgement {
	if d.inquiry != nil {
		return d.judgeOpen(held, now)
	}
	switch {
	case held.Status == store.StatusInProgress && slices.Contains(d.outer, held.Owner):
		return judgement{result: Result{Outcome: report.WrappedTwice}} // it waits for us
	case held.Key == "" || held.Claimable(now):
		return judgement{verdict: verdictMove, move: move{kind: moveClaim, next: d.fresh()}}
	case held.Owner == d.owner && held.Status == store.StatusInProgress:
		return judgement{verdict: verdictOurs}
	}
	if r, same := d.sameRequest(held); !same {
		return judgement{result: r}
	}
	switch held.Status {
	case store.StatusCompleted:
		return judgement{verdict: verdictReplay}
	case store.StatusInProgress:
		return d.judgeInProgress(held, now)
	case store.StatusUnknown:
		if d.Resolves {
			return d.takeOver(held)
		}
		return judgement{result: Result{Outcome: report.UnknownOutcome, Reason: held.Reason}}
	default:
		return judgement{result: unreadableRecord("its status is none of INPROGRESS, COMPLETED, UNKNOWN")}
	}
}

func (d *Delivery) judgeInProgress(held store.Record, now time.Time) judgement {
	switch {
	case !held.Lapsed(now):
		return judgement{result: inProgress(held, now)}
	case unsettled(held) && !d.Resolves: // whoever was to settle it has died, and its outcome is as unknown as it was
		next := d.unknown(held, held.Reason, now)
		if held.Parked() {
			next.Attention = held.Attention
		}
		if next.Expiry.Before(held.Expiry) {
			next.Expiry = held.Expiry
		}
		return judgement{verdict: verdictMove, move: move{kind: moveRefuse, seen: held, next: next}}
	case held.Released() || !d.RefuseCrashed || d.Resolves: // a release is no crash
		return d.takeOver(held)
	case held.Resumable() && !held.Unmarked: // all that it did is recorded, if nothing is written meanwhile
		j := d.takeOver(held)
		j.move.seen.StepWrites = held.StepWrites
		return j
	default:
		return judgement{verdict: verdictMove, move: move{kind: moveRefuse, seen: held, next: d.unknown(held, store.ReasonCrashed, now)}}
	}
}

func (d *Delivery) takeOver(held store.Record) judgement {
	if held.Attempt == 0 {
		held.Attempt = 1 // a record of AWS Powertools counts none, but one execution there was
	}
	d.seenReason, d.seenDerived, d.seenUnmarked = held.Reason, held.Derived, held.Unmarked
	d.open = held.Status == store.StatusUnknown || unsettled(held)
	d.openAs, d.openSince = held.Attention, held.AttentionAt
	if held.Status == store.StatusInProgress && held.Reason == "" {
		d.seenReason = store.ReasonCrashed
	}
	if held.Released() {
		d.seenReason = store.ReasonReleased
	}
	next := d.claimed(held)
	if d.open {
		// Should we crash, the outcome is as unknown as it was, and somebody is to be asked once our lease has ended.
		next.Reason, next.Attention, next.Derived = held.Reason, held.Attention, held.Derived
		if held.Attention != "" {
			next.AttentionAt = next.Lease
		}
	} else {
		next.Tries = 0
	}
	held.StepWrites = store.AnyStepWrites
	return judgement{verdict: verdictMove, move: move{kind: moveTakeOver, seen: held, next: next}}
}

// unsettled reports whether a record in progress was UNKNOWN before, and was taken over by an execution that has not ended: its steps
// do not tell all.
func unsettled(held store.Record) bool {
	return held.Status == store.StatusInProgress && held.Reason != "" && !held.Released()
}

// tellsAll reports whether the steps of a record that was taken over tell all that its executions did. Where each step is marked, one that
// ran without a mark is no proof.
func (d *Delivery) tellsAll(r store.Record) bool {
	return r.Resumable() && (!d.RefuseCrashed || !r.Unmarked)
}

// sameRequest compares fingerprints. A handler without fingerprints takes any record of the key.
func (d *Delivery) sameRequest(held store.Record) (Result, bool) {
	switch {
	case d.Fingerprint == "" || held.Fingerprint == d.Fingerprint:
		return Result{}, true
	case held.Fingerprint == "":
		return unreadableRecord("it has no fingerprint: another program wrote it, or a handler that had none"), false
	case !execution.SameVersion(held.Fingerprint, d.Fingerprint):
		return unreadableRecord("its fingerprint has an algorithm version that this handler does not compute"), false
	default:
		return Result{Outcome: report.Mismatch}, false
	}
}

// inProgress is the result of a delivery that meets a running execution.
func inProgress(held store.Record, now time.Time) Result {
	return Result{Outcome: report.InProgress, RetryAfter: max(held.ProtectedUntil().Sub(now), 0)}
}
