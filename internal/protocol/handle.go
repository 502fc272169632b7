package protocol

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// handle runs the handler under the claim and settles the record, whichever way the handler ends.
func (d *Delivery) handle(ctx context.Context, w Work) Result {
	d.handed.Add(d.seenDerived...)
	under := execution.Claim{
		Operation: d.Operation, RecordKey: d.RecordKey, Fingerprint: d.mine.Fingerprint, Attempt: d.mine.Attempt,
		Recovered: d.recovered(), CreatedAt: d.mine.CreatedAt, Handed: &d.handed, Steps: d,
	}
	d.steps.take(d.mine.Steps)
	asks := d.Resolves && under.Recovered && (d.open || !d.mine.Resumable())
	d.mine.Steps = nil
	hctx, end := d.handlerContext(execution.With(ctx, under))
	started := time.Now()
	stop := func() {
		end()
		d.Report.Handle = time.Since(started)
		d.ended = d.steps.close()
		d.Report.Steps = d.ended.reports
		d.note(d.ended.storeErr)
	}

	returned, done := false, false
	// A panic and runtime.Goexit pass through here without being recovered, so they continue as what they are, with
	// their own stack. There is no need to tell them apart.
	defer func() {
		if done {
			return
		}
		stop()
		d.settle(hctx, d.withSteps(d.crashed(returned), nil))
	}()

	finding, e, failed := execution.Untouched, ending{}, error(nil)
	if asks { // an execution that may have had its effect
		finding, e = d.resolve(hctx, w, under)
	}
	if finding == execution.Untouched {
		d.open = false
		ended := w.Execute(hctx, &returned)
		e, failed = d.endingOf(hctx, ended), ended.Err
	}
	done = true
	stop()
	if finding == execution.Untouched {
		e = d.withSteps(e, failed)
	}

	if e.fate == fateComplete && finding == execution.Untouched { // a resolver asks for no steps
		d.Report.Orphans = d.ended.orphans
	}
	r := d.settle(hctx, e)
	switch {
	case r.Outcome != Executed || finding == execution.Untouched:
		return r
	case finding == execution.HasExecuted:
		r.Outcome = Resolved
		return r
	default:
		d.Report.Reason = e.reason
		return Result{Outcome: UnknownOutcome, Reason: e.reason}
	}
}

// resolve asks the resolver what became of the execution before.
func (d *Delivery) resolve(ctx context.Context, w Work, under execution.Claim) (execution.Finding, ending) {
	r := w.Resolve(ctx, under)
	switch {
	case r.Finding == execution.HasExecuted:
		return execution.HasExecuted, completion(Ended{Result: r.Result, ResultErr: r.ResultErr})
	case r.Finding == execution.Untouched && ctx.Err() == nil:
		return execution.Untouched, ending{}
	default: // also where it is too late to execute: someone else may own the record
		return execution.StillUnknown, ending{fate: fateUnknown, reason: d.seenReason}
	}
}
