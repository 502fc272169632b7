package protocol

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// lastWordBudget is the part of a settlement that is kept for marking a record whose result could not be stored.
const lastWordBudget = 500 * time.Millisecond

// settle ends the claim: it completes the record, makes it UNKNOWN, or releases it. The outcome is Executed if the handler's
// own result is the answer; if not, someone else's is. No failure here hides that result, and none leads to a second
// execution that the caller could have been spared.
//
// ctx gives the values of the handler's context; its end does not count any more.
func (d *Delivery) settle(ctx context.Context, e ending) Result {
	started := time.Now()
	defer func() { d.Report.Settle = since(started) }()

	switch {
	case d.committed.landed.Key != "":
		return d.landed(ctx, e)
	case e.fate == fateLeave:
		return d.leave(withinDetached(ctx, started.Add(d.Timing.ClaimBudget)), e)
	}
	end, err := d.settleEnd(ctx, started, transferTime(len(e.result)))
	d.note(err)
	ctx = withinDetached(ctx, end)
	switch e.fate {
	case fateComplete:
		return d.complete(ctx, e)
	case fateUnknown:
		return d.becomeUnknown(ctx, e.reason)
	default:
		return d.release(ctx)
	}
}

// landed writes nothing: a commit has completed the record. What the handler returned is the answer if it is what it committed.
func (d *Delivery) landed(ctx context.Context, e ending) Result {
	c := &d.committed.landed
	d.Report.Settlement = report.Completed
	if c.Parts != "" { // it is the record as it was found
		r := d.replay(ctx, *c)
		if r.Outcome != report.Replayed {
			return r
		}
		*c = r.Record
	}
	if e.fate == fateComplete && e.reason == c.Reason && bytes.Equal(e.result, c.Result) {
		return Result{Outcome: report.Executed, Expires: c.Expiry}
	}
	same := e.fate == fateComplete && e.reason == c.Reason && execution.SameAnswer(e.result, c.Result)
	return Result{Outcome: report.Executed, Committed: true, Record: *c, Expires: c.Expiry, Same: same}
}

// hasLanded reports whether a record that refused a write of ours was made by a commit of ours, although that was answered otherwise:
// something between us and the store has sent it twice. Then rows and answer are there, and count.
func (d *Delivery) hasLanded(held store.Record) bool {
	if held.Seal == "" {
		return false
	}
	for _, sent := range d.committed.sent {
		if held.Seal == sent.Seal {
			if d.committed.landed = sent; sent.Key == "" { // declined
				d.committed.landed = held
			}
			return true
		}
	}
	return false
}

// leave writes nothing. Where the lease was lost, the record is somebody else's or will be; where the result of a step was lost that
// may be repeated, the end of the lease heals it. Who says that its lease was lost is answered as who finds it when it completes.
func (d *Delivery) leave(ctx context.Context, e ending) Result {
	own := Result{Outcome: report.Executed}
	if d.hasLanded(d.ended.taken) {
		return d.landed(ctx, ending{})
	}
	if (d.ended.lost || d.committed.unread) && !e.leaseLost {
		d.Report.Settlement = report.NotSettled
		return own
	}
	d.lostLease()
	taken := d.ended.taken
	if !e.leaseLost || !d.isOthers(taken) {
		return own
	}
	return d.elsewhere(ctx, taken, store.StatusCompleted, d.Now())
}

// settleEnd bounds a settlement: by the budget that an outage may take, with the time that the result takes on its way; by the
// invocation's deadline, when Lambda kills the process; and by the lease, without which someone else may execute. A quarter of the
// margin is left for clocks that differ.
//
// A lease that is too short even for half of the reserve is renewed first. That happens where the result is very large, and where a
// handler has overrun its deadline in a process that still lives.
//
// It is safe for concurrent use. The error is that of such a renewal.
func (d *Delivery) settleEnd(ctx context.Context, now time.Time, transfer time.Duration) (time.Time, error) {
	budget := d.Timing.ClaimBudget + transfer
	least := min(d.Timing.Reserve, d.Timing.ClaimBudget)/2 + transfer
	end := now.Add(budget)
	if !d.deadline.IsZero() && !end.Before(d.deadline) && d.deadline.Sub(now) >= d.reserve/10 {
		end = answerable(d.deadline, now)
	}
	if !d.heartbeat && end.Before(d.deadline) {
		return end, nil
	}
	held, _ := d.protected.both()
	protected := held.Add(-d.Timing.Margin / 4)
	if !end.After(protected) {
		return end, nil
	}
	if protected.Sub(now) < least {
		return d.extend(ctx, now, budget)
	}
	return protected, nil
}

// extend renews the lease for a settlement, and returns the end of that. If the lease cannot be renewed, what is left of it has
// to do.
func (d *Delivery) extend(ctx context.Context, now time.Time, budget time.Duration) (time.Time, error) {
	extended := false
	err := retry(withinDetached(ctx, now.Add(d.Timing.ClaimBudget)), func(ctx context.Context) error {
		begun, next := time.Now(), d.renewed(budget+d.Timing.Margin)
		held, swapped, err := d.Store.Swap(ctx, unleased(d.mine), next)
		switch {
		case err != nil:
			return err
		case swapped:
			d.protected.until(begun.Add(budget+d.Timing.Margin), next.Lease)
			extended = true
		case held.Owner == d.owner && held.Status == store.StatusInProgress: // a later lease of ours is there
			extended = true
		}
		return nil
	})
	if !extended {
		return time.Now().Add(min(d.Timing.Reserve, d.Timing.ClaimBudget)), err
	}
	return time.Now().Add(budget), err
}

// complete stores the result. If it cannot, a last small write says that the effect happened and its result is
// lost: nobody must execute again.
//
// An effect that may be repeated needs no last word: the record stays in progress, and its lease heals it by itself. Only a result
// that can never be stored would be lost again and again.
func (d *Delivery) complete(ctx context.Context, e ending) Result {
	tries := ctx
	if !d.Repeatable {
		tries = keepForLast(ctx)
	}
	r, err := d.conclude(tries, d.completed(e.reason, e.result))
	d.note(err)
	switch {
	case err == nil:
		return r
	case d.Repeatable && !neverFits(err):
		d.Report.Settlement = report.NotSettled
		return Result{Outcome: report.Executed}
	default:
		return d.becomeUnknown(ctx, store.ReasonResultLost)
	}
}

// becomeUnknown makes the record UNKNOWN. The handler's own result or error stays the answer.
func (d *Delivery) becomeUnknown(ctx context.Context, reason string) Result {
	next := d.unknown(d.mine, reason, d.Now())
	next.Lease, next.Derived = time.Time{}, d.handed.Sorted()
	switch {
	case !d.open:
		next.Tries = 0
	case !d.openSince.IsZero(): // nobody has settled it since
		next.Attention, next.AttentionAt = d.openAs, d.openSince
	}
	r, err := d.conclude(ctx, next)
	if err != nil {
		d.Report.Settlement = report.NotSettled
		d.note(err)
		return Result{Outcome: report.Executed}
	}
	if d.Report.Settlement == report.Unknown {
		d.Report.Reason = reason
		if d.open {
			d.Report.Settlement = report.StillUnknown
		}
	}
	return r
}

// conclude replaces our claim by next, the record it ends in. It returns an error if the store did not let it.
func (d *Delivery) conclude(ctx context.Context, next store.Record) (Result, error) {
	seen, absent := unleased(d.mine), false
	seen.Steps = d.ended.held
	for failures, moves := 0, 0; moves < maxMoves; {
		now := d.Now()
		held, written, err := d.write(ctx, absent, seen, next, now)
		switch {
		case err != nil:
			failures++
			if !store.MayPass(err) || !pause(ctx, failures) {
				return Result{}, err
			}
			continue
		case written:
			return d.settled(next), nil
		}

		moves++
		absent = false
		switch {
		case d.hasLanded(held):
			return d.landed(ctx, ending{}), nil
		case strings.HasPrefix(held.Seal, d.owner+"."):
			return d.settled(held), nil // the reply was lost, the write was not
		case d.inquiry == nil && (held.Key == "" || held.Claimable(now)):
			absent = true // deleted meanwhile: the result is stored if nobody else claims first
		case held.Owner == d.owner && held.Status != store.StatusCompleted:
			if held.Status == next.Status {
				return d.settled(next), nil
			}
			seen = unleased(held) // someone found our lease lapsed; we still bring the result
			seen.Steps = d.ended.all(held)
		case d.inquiry == nil && next.Status == store.StatusCompleted && d.lapsedElsewhere(held, now):
			seen = held // they crashed too: complete in their place
		default:
			return d.elsewhere(ctx, held, next.Status, now), nil
		}
	}
	return Result{}, errRestless
}

func (d *Delivery) write(ctx context.Context, absent bool, seen, next store.Record, now time.Time) (store.Record, bool, error) {
	ctx, cancel := partOf(ctx, transferTime(len(next.Result)))
	defer cancel()
	if absent {
		return d.Store.Claim(ctx, next, now)
	}
	return d.Store.Swap(ctx, seen, next)
}

// settled is the result once the record is ours in the state that is given.
func (d *Delivery) settled(r store.Record) Result {
	if r.Status == store.StatusUnknown {
		d.Report.Settlement = report.Unknown
		return Result{Outcome: report.Executed}
	}
	d.Report.Settlement = report.Completed
	return Result{Outcome: report.Executed, Expires: r.Expiry}
}

// lapsedElsewhere reports whether we may complete in the place of somebody who crashed, too.
func (d *Delivery) lapsedElsewhere(held store.Record, now time.Time) bool {
	_, same := d.sameRequest(held)
	return same && held.Status == store.StatusInProgress && held.Lapsed(now) && !d.overruled(held)
}

// overruled reports whether an operator has settled the record since we claimed it: that verdict is final. Who claimed the
// record after a settlement may complete it.
func (d *Delivery) overruled(held store.Record) bool {
	return held.SettledBy != "" && (held.Released() || !held.SettledAt.Equal(d.mine.SettledAt))
}

// lostLease reports that somebody else owns the record.
func (d *Delivery) lostLease() {
	d.Report.Settlement, d.Report.StoreErr = report.Elsewhere, execution.ErrLeaseLost
}

// elsewhere decides what a caller gets whose lease was lost to someone else. If they stand for the same request, their
// answer is the one that all callers agree on; in every other case the handler's own result is.
func (d *Delivery) elsewhere(ctx context.Context, held store.Record, ours store.Status, now time.Time) Result {
	d.lostLease()
	own := Result{Outcome: report.Executed}
	if _, same := d.sameRequest(held); !same || ours != store.StatusCompleted {
		return own
	}
	switch held.Status {
	case store.StatusCompleted:
		r := d.replay(ctx, held)
		if r.Outcome != report.Replayed {
			d.Report.StoreErr = r.cause()
			return own
		}
		return r
	case store.StatusInProgress:
		r := inProgress(held, now)
		r.Outcome = report.Superseded
		return r
	default:
		return own
	}
}

// release ends the claim without a result, so that the next delivery executes. Its failure goes to the observer; the lease bounds
// what it costs. What steps have recorded stays. The record stays, too, if a commit was not answered: in its place a copy of our claim
// that comes late could put the record back which a late copy of the commit needs.
func (d *Delivery) release(ctx context.Context) Result {
	try := d.releaseGone
	if d.ended.any() || d.committed.doubt {
		try = d.releaseKept
	}
	refusing, released, err := try(ctx)
	switch {
	case d.hasLanded(refusing):
		return d.landed(ctx, ending{})
	case err != nil:
		d.Report.Settlement = report.NotSettled
		d.note(err)
	case !released: // not even a lost reply of ours can have done it
		d.lostLease()
	default:
		d.Report.Settlement = report.Released
	}
	return Result{Outcome: report.Executed}
}

// releaseGone deletes the record. If a commit may have landed, it returns the record that refused. The record may have been deleted by
// a try whose reply was lost, and be somebody else's by now: that counts as released.
func (d *Delivery) releaseGone(ctx context.Context) (refusing store.Record, released bool, _ error) {
	ours := unleased(d.mine)
	ours.StepWrites = d.mine.StepWrites // what some step has recorded meanwhile is never deleted
	unknown := ours                     // someone found our lease lapsed; they did not execute
	unknown.Status = store.StatusUnknown
	tries, deleted := 0, false
	err := retry(ctx, func(ctx context.Context) (err error) {
		tries++
		if deleted, err = d.Store.Delete(ctx, ours); err != nil || deleted {
			return err
		}
		if len(d.committed.sent) > 0 {
			if refusing, _, err = d.Store.Get(ctx, d.RecordKey); err != nil || refusing.Status == store.StatusCompleted {
				return err
			}
		}
		deleted, err = d.Store.Delete(ctx, unknown)
		if tries > 1 && !deleted {
			return nil // an earlier try has deleted it, and its reply was lost
		}
		return err
	})
	return refusing, deleted || tries > 1, err
}

// releaseKept leaves the record to the next delivery with its steps, and returns what releaseGone does.
func (d *Delivery) releaseKept(ctx context.Context) (held store.Record, released bool, _ error) {
	return d.releaseAs(ctx, d.released())
}

// releaseAs replaces our claim by a record of nobody, and returns what releaseGone does.
func (d *Delivery) releaseAs(ctx context.Context, next store.Record) (held store.Record, released bool, _ error) {
	seen := unleased(d.mine)
	tries, kept := 0, false
	err := retry(ctx, func(ctx context.Context) (err error) {
		tries++
		for range maxMoves {
			var swapped bool
			if held, swapped, err = d.Store.Swap(ctx, seen, next); err != nil {
				return err
			}
			kept = swapped || held.Owner == next.Owner // or its reply was lost
			if kept || held.Owner != d.owner || held.Status == store.StatusCompleted {
				return nil
			}
			seen = unleased(held) // someone found our lease lapsed; they did not execute
		}
		return errRestless
	})
	return held, kept || tries > 1 && d.inquiry == nil, err // an inquiry reports what it has written
}

// keepForLast ends early enough for the last word on a result that could not be stored.
func keepForLast(ctx context.Context) context.Context {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx
	}
	return within(ctx, deadline.Add(-min(lastWordBudget, time.Until(deadline)/4)))
}
