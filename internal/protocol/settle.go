package protocol

import (
	"bytes"
	"context"
	"maps"
	"time"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// settle ends the claim: it completes the record, makes it UNKNOWN, or releases it. The outcome is
// Executed if the handler's own result is the answer, and not somebody else's. No failure here
// hides that result, and none leads to a second execution that the caller could have been spared.
// Of ctx, the handler's context, only the values count.
func (d *Delivery) settle(ctx context.Context, e ending) Result {
	started := time.Now()
	defer func() { d.Report.Settle = since(started) }()

	ctx = context.WithoutCancel(ctx)
	switch {
	case d.commits.landed != nil:
		return d.landed(ctx, e)
	case e.fate == fateLeave:
		return d.leave(ctx, e)
	}
	end, err := d.claim.settleEnd(ctx, transferTime(len(e.result)))
	d.claim.note(err)
	switch e.fate {
	case fateComplete:
		return d.complete(ctx, end, e)
	case fateUnknown:
		return d.becomeUnknown(ctx, end, e.reason)
	default:
		return d.release(ctx, end)
	}
}

// landed writes nothing: a commit has completed the record. What the handler returned is the answer
// if it is what it committed.
func (d *Delivery) landed(ctx context.Context, e ending) Result {
	c := *d.commits.landed
	d.Report.Settlement = report.Completed
	if c.Parts != "" { // it is the record as it was found
		r := d.read(ctx, c)
		if r.Outcome != report.Replayed {
			return r
		}
		c = r.Record
	}
	if e.fate == fateComplete && e.reason == c.Reason && bytes.Equal(e.result, c.Result) {
		return Result{Outcome: report.Executed, Expires: c.Expiry}
	}
	same := e.fate == fateComplete && e.reason == c.Reason && execution.SameAnswer(e.result, c.Result)
	return Result{Outcome: report.Executed, Committed: true, Record: c, Expires: c.Expiry, Same: same}
}

// hasLanded reports whether a record that refused a write of ours was made by a commit of ours that
// was answered otherwise: something between us and the store has sent it twice. Its rows and its
// answer are there, and count.
func (d *Delivery) hasLanded(held store.Record) bool {
	if held.Seal == "" {
		return false
	}
	for _, sent := range d.commits.sent {
		if held.Seal == sent.Seal {
			if sent.Key == "" { // declined
				sent = held
			}
			d.commits.landed = &sent
			return true
		}
	}
	return false
}

// leave writes nothing. Where the lease was lost, the record is somebody else's or will be. Where
// the result of a step was lost that may be repeated, the end of the lease heals it. Who says that
// its lease was lost is answered as who finds that out when it completes.
func (d *Delivery) leave(ctx context.Context, e ending) Result {
	own := Result{Outcome: report.Executed}
	taken := d.steps.known.taken
	if taken != nil && d.hasLanded(*taken) {
		return d.landed(ctx, ending{})
	}
	if (d.steps.known.lost || d.commits.unread) && !e.leaseLost {
		d.Report.Settlement = report.NotSettled
		return own
	}
	d.lostLease()
	if !e.leaseLost || taken == nil || !d.isOthers(*taken) {
		return own
	}
	return d.elsewhere(ctx, *taken, store.StatusCompleted, d.Now())
}

// complete stores the result. If it cannot, a last small write says that the effect happened and
// its result is lost: nobody must execute again. Where the effect may be repeated the record stays
// in progress, and the end of its lease heals it, but for a result that can never be stored.
func (d *Delivery) complete(ctx context.Context, end time.Time, e ending) Result {
	tries := end
	if !d.Repeatable {
		tries = keepForLast(end)
	}
	next := d.claim.as.Completed(d.claim.mine, e.reason, e.result, d.Now())
	next.Questions += d.questions
	r, err := d.conclude(ctx, tries, next)
	if err == nil || d.Repeatable && !neverFits(err) {
		return r
	}
	return d.becomeUnknown(ctx, end, store.ReasonResultLost)
}

// becomeUnknown makes the record UNKNOWN. The handler's own result or error stays the answer.
func (d *Delivery) becomeUnknown(ctx context.Context, end time.Time, reason string) Result {
	c := &d.claim
	next := c.as.EndsUnknown(c.mine, c.before,
		life.Ended{Reason: reason, Failure: errortype.Of(d.cause), Derived: d.handed.Sorted()}, d.Now())
	next.Questions += d.questions
	r, _ := d.conclude(ctx, end, next)
	if d.Report.Settlement == report.Unknown {
		d.Report.Reason = reason
		if c.before.Open {
			d.Report.Settlement = report.StillUnknown
		}
	}
	return r
}

// release ends the claim without a result, so that the next delivery executes. Its failure goes to
// the observer, and the lease bounds what it costs. The record stays if steps are recorded, and if
// a commit was not answered: a late copy of our claim could put the record back which a late copy
// of the commit needs.
func (d *Delivery) release(ctx context.Context, end time.Time) Result {
	var next store.Record // nothing
	if len(d.steps.known.held) > 0 || d.commits.doubt {
		left := d.steps.known.left(d.handed.Sorted())
		left.Failure = errortype.Of(d.cause)
		next = d.claim.as.Released(d.claim.mine, left, d.Now())
	}
	r, _ := d.conclude(ctx, end, next)
	return r
}

// conclude replaces our claim by next, the record it ends in, or by nothing. Where it returns an
// error, the store did not let it, and the result is what that comes to.
func (d *Delivery) conclude(ctx context.Context, end time.Time, next store.Record) (Result, error) {
	var (
		held store.Record
		ours bool
		err  error
	)
	if next.Key == "" {
		ours, err = d.removed(ctx, end)
	} else {
		held, ours, err = d.claim.conclude(ctx, end, next, d.steps.known.held, d.hasLanded)
	}
	r := Result{Outcome: report.Executed}
	switch {
	case err != nil:
		d.Report.Settlement = report.NotSettled
		d.claim.note(err)
	case d.commits.landed != nil:
		return d.landed(ctx, ending{}), nil
	case !ours:
		return d.elsewhere(ctx, held, next.Status, d.Now()), nil
	case held.Status == store.StatusUnknown:
		d.Report.Settlement = report.Unknown
	case held.Status == store.StatusCompleted:
		d.Report.Settlement, r.Expires = report.Completed, held.Expiry
	default:
		d.Report.Settlement = report.Released
	}
	return r, err
}

// lostLease reports that somebody else owns the record.
func (d *Delivery) lostLease() {
	d.Report.Settlement, d.Report.StoreErr = report.Elsewhere, execution.ErrLeaseLost
}

// elsewhere decides what a caller gets whose lease was lost to someone else: their answer, if they
// stand for the same request, so that all callers agree, and else the handler's own result.
func (d *Delivery) elsewhere(ctx context.Context, held store.Record, ours store.Status, now time.Time) Result {
	d.lostLease()
	switch {
	case !d.claim.as.Same(held) || ours != store.StatusCompleted: // the handler's own result counts
	case held.Status == store.StatusInProgress:
		r := inProgress(held, now)
		r.Outcome = report.Superseded
		return r
	case held.Status == store.StatusCompleted:
		r := d.replay(ctx, held)
		if r.Outcome == report.Replayed {
			return r
		}
		d.Report.StoreErr = r.Err
		if r.Outcome == report.Unreadable {
			d.Report.StoreErr = &store.UnreadableError{Reason: r.Reason, Err: r.Err}
		}
	}
	return Result{Outcome: report.Executed}
}

// removed deletes the record, unless a commit has landed. The record may have been deleted by a try
// whose reply was lost, and be somebody else's by now: that counts as released.
func (d *Delivery) removed(ctx context.Context, end time.Time) (released bool, _ error) {
	ours := life.Unleased(d.claim.mine)
	ours.StepWrites = d.claim.mine.StepWrites // what some step has recorded meanwhile is never deleted
	unknown := ours                           // someone found that our lease had ended; they did not execute
	unknown.Status = store.StatusUnknown
	tries, deleted := 0, false
	err := retry(ctx, end, func(ctx context.Context) (err error) {
		tries++
		if deleted, err = d.Store.Delete(ctx, ours); err != nil || deleted {
			return err
		}
		if len(d.commits.sent) > 0 {
			held, _, err := d.Store.Get(ctx, d.RecordKey)
			if err != nil || d.hasLanded(held) || held.Status == store.StatusCompleted {
				return err
			}
		}
		deleted, err = d.Store.Delete(ctx, unknown)
		if tries > 1 && !deleted {
			return nil // an earlier try has deleted it, and its reply was lost
		}
		return err
	})
	return deleted || tries > 1, err
}

// lastWordBudget is what is kept of a settlement to mark a record whose result was not stored.
const lastWordBudget = 500 * time.Millisecond

// conclude replaces our claim by next, the record it ends in: the result, an unknown outcome, or a
// record of nobody. It returns the record that is there then, and whether that is ours: by this
// write, an earlier one, or a commit. steps are those that our record has, and hasLanded tells the
// commits of the execution. It returns an error if the store did not let it.
func (c *claim) conclude(
	ctx context.Context, end time.Time, next store.Record, steps map[string]store.Step,
	hasLanded func(store.Record) bool,
) (held store.Record, ours bool, err error) {
	seen, keeps, failures := life.Unleased(c.mine), next.Owner == c.as.Owner, 0
	seen.Steps = steps
	for moves := 0; moves < maxMoves; {
		now := c.Now()
		held, written, err := c.write(ctx, end, seen, next, now)
		switch {
		case err != nil:
			failures++
			if !store.MayPass(err) || !pause(ctx, end, failures) {
				return held, false, err
			}
			continue
		case written:
			return next, true, nil
		}

		moves++
		switch {
		case hasLanded(held), life.CompletedBy(held, c.as.Owner), !keeps && life.Landed(held, next):
			return held, true, nil // the reply was lost, the write was not
		case keeps && !c.as.Asks && life.Of(held, now) == life.Free:
			seen = store.Record{} // deleted meanwhile: the result is stored if nobody else claims first
		case held.Owner == c.as.Owner && held.Status != store.StatusCompleted:
			if keeps && held.Status == next.Status {
				return next, true, nil
			}
			seen = life.Unleased(held)               // someone found that our lease had ended; they did not execute
			seen.Steps = make(map[string]store.Step) // a completion drops all of them
			maps.Copy(seen.Steps, held.Steps)
			maps.Copy(seen.Steps, steps)
		case next.Status == store.StatusCompleted && c.as.MayComplete(held, c.mine, now):
			seen = held // they crashed too: complete in their place
		case !keeps && failures > 0 && !c.as.Asks:
			return next, true, nil // by an earlier try, perhaps; an inquiry reports what it has written
		default:
			return held, false, nil
		}
	}
	return held, false, errRestless
}

// keepForLast is early enough before end for the last word on a result that could not be stored.
func keepForLast(end time.Time) time.Time {
	return end.Add(-min(lastWordBudget, time.Until(end)/4))
}

// settleEnd bounds a settlement: by the budget that an outage may take, with the time that the
// result takes on its way; by the invocation's deadline, when Lambda kills the process; and by the
// lease, less a quarter of the margin for clocks that differ.
//
// A lease that is too short even for half of the reserve is renewed first, and the error is that of
// the renewal. That happens where the result is very large, and where a handler has overrun its
// deadline. settleEnd is safe for concurrent use.
func (c *claim) settleEnd(ctx context.Context, transfer time.Duration) (time.Time, error) {
	now, budget := time.Now(), c.Timing.ClaimBudget+transfer
	least := min(c.Timing.Reserve, c.Timing.ClaimBudget)/2 + transfer
	end := now.Add(budget)
	if !c.deadline.IsZero() && !end.Before(c.deadline) && c.deadline.Sub(now) >= c.reserve/10 {
		end = answerable(c.deadline, now)
	}
	if !c.heartbeat && end.Before(c.deadline) {
		return end, nil
	}
	held, _ := c.protected.both()
	protected := held.Add(-c.Timing.Margin / 4)
	if !end.After(protected) {
		return end, nil
	}
	if protected.Sub(now) < least {
		return c.extend(ctx, now, budget)
	}
	return protected, nil
}

// extend renews the lease for a settlement, and returns the end of that. If the lease cannot be
// renewed, what is left of it has to do.
func (c *claim) extend(ctx context.Context, now time.Time, budget time.Duration) (time.Time, error) {
	extended := false
	err := retry(context.WithoutCancel(ctx), now.Add(c.Timing.ClaimBudget), func(ctx context.Context) (err error) {
		extended, err = c.tryRenew(ctx, budget+c.Timing.Margin)
		return err
	})
	if !extended {
		budget = min(c.Timing.Reserve, c.Timing.ClaimBudget)
	}
	return time.Now().Add(budget), err
}
