// Package protocol takes one delivery of a key through its life: it claims the record, runs the
// handler under that claim, and settles the record, whichever way the handler ends. It works on
// texts and digests: it knows no events, no HTTP, no Lambda and no types of the handler. The root
// package makes the request, and turns [Result] and [report.Delivery] into its documented errors.
// What a held record means, and which record follows it, is decided in package life.
//
// One delivery passes through the files in this order:
//
//	protocol.go Run: from the claim to the result, or Begin and End for its halves
//	claim.go    takes the record, or says why not; takes back what may have been applied unseen
//	wait.go     waits for the result of a running execution
//	handle.go   runs the handler under its claim, and decides what becomes of the record
//	lease.go    how long a claim is protected, and the heartbeat beside the handler that renews it
//	step.go     one step of the handler: resumed, or run and recorded
//	commit.go   completes the record together with writes of the handler
//	settle.go   completes the record, makes it UNKNOWN, or releases it: how, and in how much time
//
// An inquiry stands beside it, and both stand on the rest:
//
//	inquiry.go  asks about a record that somebody has to settle, under a claim of its own
//	delivery.go what a delivery is, what its handler offers, and how it ends
//	replay.go   reads the result of a completed record, and checks it
//	steps.go    what an execution knows of its steps and of its commits
//	call.go     one call of the store: how long, how often, and what its failure means
package protocol

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Run takes the delivery through the protocol.
func (d *Delivery) Run(ctx context.Context, w Work) Result {
	if r, claimed := d.begin(ctx); !claimed {
		return r
	}
	return d.handle(ctx, w)
}

// Begin is the first half of [Delivery.Run], for who is the handler itself: it takes the record,
// and returns the context to work with until [Delivery.End]. False says that nothing is to be
// executed, and the result why.
func (d *Delivery) Begin(ctx context.Context, w Work) (under context.Context, r Result, claimed bool) {
	if r, claimed = d.begin(ctx); claimed {
		ctx, _ = d.open(ctx, w)
	}
	return ctx, r, claimed
}

// End is the other half: it settles what has begun. ctx is the one that Begin returned.
func (d *Delivery) End(ctx context.Context, ended Ended) Result {
	e := d.endingOf(ctx, ended)
	d.cause = ended.Err
	d.close()
	return d.executed(ctx, e)
}

// begin takes the record, or waits for whoever has it, if that is asked for.
func (d *Delivery) begin(ctx context.Context) (r Result, claimed bool) {
	began := time.Now()
	d.claim = claimOf(d.Settings, d.RecordKey, d.Fingerprint, &d.Report)
	caller := execution.CallerOf(ctx)
	p := caller.Patience
	d.claim.as.Callers, d.claim.as.Trace, d.Unwanted = caller.Owners, d.Trace, caller.Unwanted
	// Who asks for patience and leaves too little time to execute only looks what becomes of the
	// other execution.
	r, claimed = Result{Outcome: report.InProgress}, false
	patient := !p.Until.IsZero()
	if patient {
		d.claim.begin(ctx)
	}
	if !patient || d.worthwhile(d.claim.started, p.Least) {
		t := d.claim.take(ctx)
		if claimed = t.claimed; !claimed {
			r = d.answer(ctx, &t)
		}
	}
	d.Report.Claim = since(began)
	if !claimed && r.Outcome == report.InProgress {
		r, claimed = d.await(ctx, r, p)
	}
	if !claimed {
		if r.Outcome == report.UnknownOutcome {
			d.Report.Reason = r.Reason
		}
		return r, false
	}
	d.Report.Attempt = d.claim.mine.Attempt
	// A record that was released says that the execution before this one ended properly.
	d.Report.Recovered = d.Report.Attempt > 1 && d.claim.before.Reason != store.ReasonReleased
	if d.Report.Recovered || d.Report.Trace == "" {
		d.Report.Trace = d.claim.before.Trace
	}
	return Result{}, true
}

// answer is what a delivery gets that does not execute.
func (d *Delivery) answer(ctx context.Context, t *taking) Result {
	switch {
	case t.unanswered != nil:
		return unanswered(t.unanswered)
	case t.Verdict == life.Replay:
		return d.replay(ctx, t.held)
	case t.Verdict == life.Twice:
		return Result{Outcome: report.WrappedTwice}
	case t.Verdict == life.Busy:
		d.Report.Trace = t.held.Trace
		return inProgress(t.held, t.at)
	case t.Verdict == life.Mismatch:
		return Result{Outcome: report.Mismatch}
	case t.Verdict == life.Uncertain:
		return Result{Outcome: report.UnknownOutcome, Reason: t.Reason}
	case t.Verdict == life.Refuse:
		return Result{Outcome: report.UnknownOutcome, Reason: t.Next.Reason}
	default:
		return unreadableRecord(t.Reason)
	}
}

// inProgress is the result of a delivery that meets a running execution.
func inProgress(held store.Record, now time.Time) Result {
	return Result{Outcome: report.InProgress, RetryAfter: max(held.ProtectedUntil().Sub(now), 0)}
}
