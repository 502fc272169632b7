package protocol

import (
	"bytes"
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// settle ends the claim: it completes the record, makes it UNKNOWN, or releases it. The outcome is
// Executed if the handler's own result is the answer; if not, someone else's is. No failure here
// hides that result, and none leads to a second execution that the caller could have been spared.
//
// ctx gives the values of the handler's context; its end does not count any more.
func (d *Delivery) settle(ctx context.Context, e ending) Result {
	started := time.Now()
	defer func() { d.Report.Settle = since(started) }()

	switch {
	case d.commits.landed != nil:
		return d.landed(ctx, e)
	case e.fate == fateLeave:
		return d.leave(withinDetached(ctx, started.Add(d.Timing.ClaimBudget)), e)
	}
	end, err := d.claim.settleEnd(ctx, started, transferTime(len(e.result)))
	d.claim.note(err)
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

// hasLanded reports whether a record that refused a write of ours was made by a commit of ours,
// although that was answered otherwise: something between us and the store has sent it twice. Then
// rows and answer are there, and count.
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

// leave writes nothing. Where the lease was lost, the record is somebody else's or will be; where
// the result of a step was lost that may be repeated, the end of the lease heals it. Who says that
// its lease was lost is answered as who finds it when it completes.
func (d *Delivery) leave(ctx context.Context, e ending) Result {
	own := Result{Outcome: report.Executed}
	taken := d.steps.ended.taken
	if taken != nil && d.hasLanded(*taken) {
		return d.landed(ctx, ending{})
	}
	if (d.steps.ended.lost || d.commits.unread) && !e.leaseLost {
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
// its result is lost: nobody must execute again.
//
// An effect that may be repeated needs no last word: the record stays in progress, and its lease
// heals it by itself. Only a result that can never be stored would be lost again and again.
func (d *Delivery) complete(ctx context.Context, e ending) Result {
	tries := ctx
	if !d.Repeatable {
		tries = keepForLast(ctx)
	}
	next := d.claim.as.Completed(d.claim.mine, e.reason, e.result, d.Now())
	next.Questions += d.questions
	r, err := d.conclude(tries, next)
	d.claim.note(err)
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
	c := &d.claim
	next := c.as.EndsUnknown(c.mine, c.before,
		life.Ended{Reason: reason, Failure: d.failure, Derived: d.handed.Sorted()}, d.Now())
	next.Questions += d.questions
	r, err := d.conclude(ctx, next)
	if err != nil {
		d.Report.Settlement = report.NotSettled
		d.claim.note(err)
		return Result{Outcome: report.Executed}
	}
	if d.Report.Settlement == report.Unknown {
		d.Report.Reason = reason
		if c.before.Open {
			d.Report.Settlement = report.StillUnknown
		}
	}
	return r
}

// conclude replaces our claim by next, the record it ends in. It returns an error if the store did
// not let it.
func (d *Delivery) conclude(ctx context.Context, next store.Record) (Result, error) {
	held, ours, err := d.claim.conclude(ctx, next, d.steps.ended.held, d.hasLanded)
	switch {
	case err != nil:
		return Result{}, err
	case d.commits.landed != nil:
		return d.landed(ctx, ending{}), nil
	case !ours:
		return d.elsewhere(ctx, held, next.Status, d.Now()), nil
	case held.Status == store.StatusUnknown:
		d.Report.Settlement = report.Unknown
		return Result{Outcome: report.Executed}, nil
	default:
		d.Report.Settlement = report.Completed
		return Result{Outcome: report.Executed, Expires: held.Expiry}, nil
	}
}

// lostLease reports that somebody else owns the record.
func (d *Delivery) lostLease() {
	d.Report.Settlement, d.Report.StoreErr = report.Elsewhere, execution.ErrLeaseLost
}

// elsewhere decides what a caller gets whose lease was lost to someone else. If they stand for the
// same request, their answer is the one that all callers agree on; in every other case the
// handler's own result is.
func (d *Delivery) elsewhere(ctx context.Context, held store.Record, ours store.Status, now time.Time) Result {
	d.lostLease()
	own := Result{Outcome: report.Executed}
	if !d.claim.as.Same(held) || ours != store.StatusCompleted {
		return own
	}
	switch held.Status {
	case store.StatusCompleted:
		switch r := d.replay(ctx, held); r.Outcome {
		case report.Replayed:
			return r
		case report.Unreadable:
			d.Report.StoreErr = &store.UnreadableError{Reason: r.Reason, Err: r.Err}
		default:
			d.Report.StoreErr = r.Err
		}
		return own
	case store.StatusInProgress:
		r := inProgress(held, now)
		r.Outcome = report.Superseded
		return r
	default:
		return own
	}
}

// release ends the claim without a result, so that the next delivery executes. Its failure goes to
// the observer; the lease bounds what it costs. What steps have recorded stays. The record stays,
// too, if a commit was not answered: in its place a copy of our claim that comes late could put the
// record back which a late copy of the commit needs.
func (d *Delivery) release(ctx context.Context) Result {
	var (
		refusing store.Record
		released bool
		err      error
	)
	if d.steps.ended.any() || d.commits.doubt {
		left := d.steps.ended.left(d.handed.Sorted())
		left.Failure = d.failure
		refusing, released, err = d.claim.releaseAs(ctx, d.claim.as.Released(d.claim.mine, left, d.Now()))
	} else {
		refusing, released, err = d.releaseGone(ctx)
	}
	switch {
	case d.hasLanded(refusing):
		return d.landed(ctx, ending{})
	case err != nil:
		d.Report.Settlement = report.NotSettled
		d.claim.note(err)
	case !released: // not even a lost reply of ours can have done it
		d.lostLease()
	default:
		d.Report.Settlement = report.Released
	}
	return Result{Outcome: report.Executed}
}

// releaseGone deletes the record. If a commit may have landed, it returns the record that refused.
// The record may have been deleted by a try whose reply was lost, and be somebody else's by now:
// that counts as released.
func (d *Delivery) releaseGone(ctx context.Context) (refusing store.Record, released bool, _ error) {
	ours := life.Unleased(d.claim.mine)
	ours.StepWrites = d.claim.mine.StepWrites // what some step has recorded meanwhile is never deleted
	unknown := ours                           // someone found that our lease had ended; they did not execute
	unknown.Status = store.StatusUnknown
	tries, deleted := 0, false
	err := retry(ctx, func(ctx context.Context) (err error) {
		tries++
		if deleted, err = d.Store.Delete(ctx, ours); err != nil || deleted {
			return err
		}
		if len(d.commits.sent) > 0 {
			if refusing, _, err = d.Store.Get(ctx, d.RecordKey); err != nil ||
				refusing.Status == store.StatusCompleted {
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
