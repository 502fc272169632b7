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
		Recovered: d.recovered(), Handed: &d.handed,
	}
	hctx, end := d.handlerContext(execution.With(ctx, under))
	started := time.Now()
	stop := func() {
		end()
		d.Report.Handle = time.Since(started)
	}

	returned, done := false, false
	// A panic and runtime.Goexit pass through here without being recovered, so they continue as what they are, with
	// their own stack. There is no need to tell them apart.
	defer func() {
		if done {
			return
		}
		stop()
		d.settle(hctx, d.crashed(returned))
	}()

	finding, e := Untouched, ending{}
	if d.Resolves && under.Recovered { // an execution that may have had its effect
		finding, e = d.resolve(hctx, w, under)
	}
	if finding == Untouched {
		d.open = false
		e = d.endingOf(hctx, w.Execute(hctx, &returned))
	}
	done = true
	stop()

	r := d.settle(hctx, e)
	switch {
	case r.Outcome != Executed || finding == Untouched:
		return r
	case finding == HasExecuted:
		r.Outcome = Resolved
		return r
	default:
		d.Report.Reason = e.reason
		return Result{Outcome: UnknownOutcome, Reason: e.reason}
	}
}

// resolve asks the resolver what became of the execution before.
func (d *Delivery) resolve(ctx context.Context, w Work, under execution.Claim) (Finding, ending) {
	r := w.Resolve(ctx, under)
	switch {
	case r.Finding == HasExecuted:
		return HasExecuted, completion(Ended{Result: r.Result, ResultErr: r.ResultErr})
	case r.Finding == Untouched && ctx.Err() == nil:
		return Untouched, ending{}
	default: // also where it is too late to execute: someone else may own the record
		return StillUnknown, ending{fate: fateUnknown, reason: d.seenReason}
	}
}
