package protocol

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
)

// open returns the context of what runs under the claim, and what ends that.
func (d *Delivery) open(ctx context.Context, w Work) (hctx context.Context, under execution.Claim, stop func()) {
	c := &d.claim
	d.handed.Add(c.before.Derived...)
	d.steps.claim = c
	d.commits.claim, d.commits.steps, d.commits.answer = c, &d.steps, w.Answer
	under = c.execution()
	under.Handed, under.Steps, under.Commits, under.Notes = &d.handed, &d.steps, &d.commits, &d.notes
	d.steps.take(c.mine, c.before.Unseen)
	d.asks = d.Resolves && under.Recovered && (c.before.Open || !c.as.TellsAll(c.mine))
	c.mine.Steps = nil
	hctx, end := c.handlerContext(execution.With(ctx, under))
	started := time.Now()
	return hctx, under, func() {
		end()
		d.Report.Handle = since(started)
		if d.RefuseCrashed || d.Resolves {
			d.Learned.Add(d.handed.Sorted()...)
		}
		d.commits.close()
		d.steps.close()
		d.Report.Steps, d.Report.Commits = d.steps.ended.reports, d.commits.ended.reports
		c.note(d.steps.ended.storeErr)
		c.note(d.commits.ended.storeErr)
	}
}

// handle runs the handler under the claim and settles the record, whichever way the handler ends.
func (d *Delivery) handle(ctx context.Context, w Work) (r Result) {
	hctx, under, stop := d.open(ctx, w)
	returned, done := false, false
	// A panic and runtime.Goexit pass through here without being recovered, so they continue as
	// what they are, with their own stack. There is no need to tell them apart. Only a panic after
	// a commit ends here: there is an answer.
	defer func() {
		if done {
			return
		}
		stop()
		e := d.panicked(returned)
		if !d.commits.resolving.Load() { // else a resolver panicked, which says nothing about steps
			e = d.withSteps(d.withCommit(e), nil)
		}
		if ended := d.settle(hctx, e); ended.Committed {
			if d.Panic = recover(); d.Panic != nil {
				d.Stack = debug.Stack()
				r = ended
			}
		}
	}()

	finding, e, failed := execution.Untouched, ending{}, error(nil)
	if d.asks { // an execution that may have had its effect
		finding, e = d.resolve(hctx, w, under)
	}
	if finding == execution.Untouched {
		d.claim.before.Open = false
		if d.asks {
			d.steps.note(func(k *stepsKnown) { k.untouched() })
		}
		d.notes.Open() // what a resolver notes says nothing about this execution
		ended := w.Execute(hctx, &returned)
		e, failed = d.endingOf(hctx, ended), ended.Err
		d.failure = report.TypeOf(failed)
	}
	done = true
	stop()
	if finding == execution.Untouched {
		return d.executed(hctx, e, failed)
	}
	d.questions = 1
	switch r = d.settle(hctx, e); {
	case r.Outcome != report.Executed || r.Committed:
		return r
	case finding == execution.HasExecuted:
		r.Outcome = report.Resolved
		return r
	default:
		d.Report.Reason = e.reason
		return Result{Outcome: report.UnknownOutcome, Reason: e.reason}
	}
}

// executed settles an execution whose handler has returned, with the error that it returned.
func (d *Delivery) executed(ctx context.Context, e ending, failed error) Result {
	kept := d.withCommit(e)
	dropped := e.fate == fateComplete && kept.fate != fateComplete // an answer, although the commit has failed
	if dropped {
		failed = d.commits.ended.failed
	}
	e = d.withSteps(kept, failed)
	if e.fate == fateComplete { // a resolver asks for no steps
		d.Report.OrphanSteps = d.steps.ended.orphans
	}
	r := d.settle(ctx, e)
	if dropped && r.Outcome == report.Executed && !r.Committed {
		return Result{Outcome: report.CommitFailed, Err: failed}
	}
	return r
}

// resolve asks the resolver what became of the execution before.
func (d *Delivery) resolve(ctx context.Context, w Work, under execution.Claim) (execution.Finding, ending) {
	d.commits.resolving.Store(true)
	r := w.Resolve(ctx, under)
	d.commits.resolving.Store(false)
	switch {
	case r.Finding == execution.HasExecuted:
		return execution.HasExecuted, completion(Ended{Result: r.Result, ResultErr: r.ResultErr})
	case r.Finding == execution.Untouched && ctx.Err() == nil:
		return execution.Untouched, ending{}
	default: // also where it is too late to execute: someone else may own the record
		d.failure = report.TypeOf(r.ResultErr)
		return execution.StillUnknown, ending{fate: fateUnknown, reason: d.claim.before.Reason}
	}
}
