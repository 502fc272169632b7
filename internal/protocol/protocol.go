// Package protocol takes one delivery of a key through its life: it claims the record, runs the handler under that claim,
// and settles the record, whichever way the handler ends. It works on texts and digests: it knows no events, no HTTP, no
// Lambda and no types of the handler. The root package makes the request, and turns the neutral [Result] and [Report] into its
// documented errors and events.
//
// One delivery passes through the files in this order:
//
//	protocol.go   Run: from the claim to the result
//	claim.go      takes the record, or says why not; takes back what may have been applied unseen
//	wait.go       waits for the result of a running execution
//	handle.go     runs the handler under its claim, and what has to happen if it panics
//	lease.go      how long a claim is protected, and the heartbeat that renews it
//	step.go       one step of the handler: resumed, or run and recorded
//	commit.go     completes the record together with writes of the handler
//	settle.go     completes the record, makes it UNKNOWN, or releases it
//
// They stand on these:
//
//	delivery.go   what a delivery is, and what the protocol has to know of its handler
//	result.go     how a delivery ends, and what an observer gets to know of it
//	judge.go      the one place that decides what a held record means for a delivery
//	replay.go     reads the result of a completed record, and checks it
//	policy.go     what becomes of an execution that failed
//	record.go     the records that a delivery writes
//	steps.go      what an execution knows of its steps
//	commits.go    what an execution knows of its commits
//	call.go       one call of the store: how long, how often, and what its failure means
//	budget.go     how much time a phase may take
//	background.go what runs beside the handler, and is joined
package protocol

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Run takes the delivery through the protocol.
func (d *Delivery) Run(ctx context.Context, w Work) Result {
	began := time.Now()
	d.work, d.outer = w, execution.Owners(ctx)
	p := execution.PatienceOf(ctx)
	r, claimed := d.claimInTime(ctx, p)
	d.Report.Claim = since(began)
	if !claimed && r.Outcome == report.InProgress {
		r, claimed = d.await(ctx, r, p)
	}
	if !claimed {
		if r.Outcome == report.UnknownOutcome {
			d.Report.Reason = r.Reason
		}
		return r
	}
	d.Report.Attempt, d.Report.Recovered = d.mine.Attempt, d.recovered()
	return d.handle(ctx, w)
}

// recovered reports whether an execution before this one did not end properly. A record that was released says that it did.
func (d *Delivery) recovered() bool {
	return d.mine.Attempt > 1 && d.seenReason != store.ReasonReleased
}
