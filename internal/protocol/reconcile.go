package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Inquiry is one question about the record of an execution that ended without saying how. No event comes with it, and nothing executes.
type Inquiry struct {
	// Ask asks the resolver, under a claim of the record. A panic of it is an error of the finding.
	Ask func(ctx context.Context, c execution.Claim) Resolution
	// Due leaves alone a record that is not due, or that is parked.
	Due bool
	// Pause is how long the record waits for its next question, after so many in vain.
	Pause func(tries int) time.Duration
	// MaxTries is after how many questions in vain the record is parked, 0 for never. Park hands it to somebody first; if it fails, the
	// record is not parked. It may be nil.
	MaxTries int
	Park     func(ctx context.Context, c execution.Claim, tries int) error
}

// Inquired is what an [Inquiry] has made of its record.
type Inquired struct {
	Outcome report.ReconcileOutcome
	// Record is the record as the inquiry found it, without its result; after a claim as it was claimed.
	Record store.Record
	// Reason is why the record is UNKNOWN, or what is wrong with one that cannot be read.
	Reason string
	// Tries is how often was asked in vain, this time included. Next is when it is asked about again, zero if it is not.
	Tries int
	Next  time.Time
	// Until is the end of the lease of an execution in progress.
	Until time.Time
	// Err is why the store could not answer, or the verdict not be stored, or the record not be handed over.
	Err error
}

// The outcomes of an inquiry that found nothing out, beside those of [report.ReconcileOutcome].
const (
	// InquiryUnreadable: the record cannot be understood.
	InquiryUnreadable report.ReconcileOutcome = "unreadable"
	// InquiryFailed: the store could not answer, or take the verdict. What is claimed lapses, and is due then.
	InquiryFailed report.ReconcileOutcome = "failed"
)

// Inquire takes the record over as a delivery would, asks, and settles it. The delivery has no fingerprint: it takes that of the record.
func (d *Delivery) Inquire(ctx context.Context, q Inquiry) Inquired {
	d.inquiry = &q
	r, claimed := d.claim(ctx)
	d.Report.Attempt = d.mine.Attempt
	if !claimed {
		return d.notAsked(r)
	}
	asked := d.ask(ctx)
	asked.Record = d.claimedRecord()
	return asked
}

// claimedRecord is our record as an inquiry reports it.
func (d *Delivery) claimedRecord() store.Record {
	r := d.mine
	r.Steps = d.ended.held
	return r
}

// notAsked says why a claim for an inquiry was refused.
func (d *Delivery) notAsked(r Result) Inquired {
	i := Inquired{Record: r.Record, Reason: r.Reason, Err: r.Err}
	switch r.Outcome {
	case report.InProgress:
		i.Outcome, i.Until = report.ReconcileBusy, d.Now().Add(r.RetryAfter)
	case report.Unreadable:
		i.Outcome = InquiryUnreadable
	case report.StoreUnavailable:
		i.Outcome = InquiryFailed
	default:
		i.Outcome = report.ReconcileClosed
	}
	return i
}

// judgeOpen is judge of an inquiry: it takes over what somebody has to settle, and never claims a key that nobody holds.
func (d *Delivery) judgeOpen(held store.Record, now time.Time) judgement {
	closed := judgement{result: Result{Outcome: report.Replayed, Record: withoutResult(held)}}
	switch {
	case held.Key == "" || held.Claimable(now):
		return closed
	case held.Owner == d.owner && held.Status == store.StatusInProgress:
		return judgement{verdict: verdictOurs}
	case held.Status == store.StatusInProgress && !held.Lapsed(now):
		return judgement{result: inProgress(held, now)}
	case d.inquiry.Due && (held.Parked() || held.AttentionAt.After(now)):
		return closed
	}
	switch held.Status {
	case store.StatusUnknown:
		return d.takeOpen(held)
	case store.StatusInProgress:
		crashed := held.Reason == "" && (d.RefuseCrashed || d.Resolves) && !d.tellsAll(held)
		if held.Attention != "" || unsettled(held) || crashed {
			return d.takeOpen(held)
		}
		return closed // the next delivery executes
	case store.StatusCompleted:
		return closed
	default:
		return judgement{result: unreadableRecord("its status is none of INPROGRESS, COMPLETED, UNKNOWN")}
	}
}

// takeOpen takes over a record and leaves it open: should we crash, it is due when our lease has ended.
func (d *Delivery) takeOpen(held store.Record) judgement {
	j := d.takeOver(held)
	if held.Reason == "" { // a step that is recorded meanwhile may tell all that it did
		j.move.seen.StepWrites = held.StepWrites
	}
	next := &j.move.next
	next.Attention, next.AttentionAt, next.Derived, next.Tries = held.Attention, next.Lease, held.Derived, held.Tries
	if held.Released() {
		next.Reason = store.ReasonAsked
	}
	if next.Attention == "" {
		next.Attention = store.AttentionOf(held.Key)
	}
	if next.Expiry.Before(held.Expiry) {
		next.Expiry = held.Expiry
	}
	return j
}

func withoutResult(r store.Record) store.Record {
	r.Result, r.Parts = nil, ""
	return r
}

// ask asks under the claim, and settles the record, whichever way that ends.
func (d *Delivery) ask(ctx context.Context) Inquired {
	d.handed.Add(d.seenDerived...)
	d.ended = stepsKnown{held: d.mine.Steps, inherited: d.seenUnmarked}
	d.mine.Steps = nil
	under := execution.Claim{
		Operation: d.Operation, RecordKey: d.RecordKey, Owner: d.mine.Owner, Fingerprint: d.mine.Fingerprint, Attempt: d.mine.Attempt,
		Recovered: true, CreatedAt: d.mine.CreatedAt, Handed: &d.handed, Steps: asksOnly{}, Commits: asksOnly{}, Notes: &d.notes,
	}
	hctx, end := d.handlerContext(execution.With(ctx, under))
	started := time.Now()
	if d.handOver() {
		err := d.inquiry.Park(hctx, under, d.mine.Tries)
		end()
		if err != nil {
			return d.askAgain(hctx, d.mine.Tries, fmt.Errorf("hand over a record to be parked: %w", err))
		}
		return d.park(hctx, d.mine.Tries)
	}
	found := d.inquiry.Ask(hctx, under)
	late := hctx.Err() != nil
	end()
	d.Report.Handle = since(started)
	switch {
	case found.Finding == execution.HasExecuted && found.ResultErr == nil:
		return d.found(hctx, found.Result)
	case found.Finding == execution.Untouched && late: // somebody else may own the record
		return d.inVain(hctx, errTooLate)
	case found.Finding == execution.Untouched:
		return d.untouched(hctx)
	default:
		return d.inVain(hctx, found.ResultErr)
	}
}

// errTooLate is why a resolver was not believed that said that nothing had happened.
var errTooLate = errors.New("the resolver answered after the time for it")

// handOver reports whether the record was asked about as often as it is to be, and is handed to somebody before it is parked.
func (d *Delivery) handOver() bool {
	q := d.inquiry
	return q.MaxTries > 0 && d.mine.Tries >= q.MaxTries && q.Park != nil && !d.mine.Parked()
}

// found completes the record with the result that the resolver found.
func (d *Delivery) found(ctx context.Context, result []byte) Inquired {
	next := d.completed("", result)
	next.SettledBy, next.SettledAt = ReconciledBy, next.CompletedAt
	next.SettledReason = "a resolver found the result of the execution"
	end, err := d.settleEnd(ctx, time.Now(), transferTime(len(result)))
	d.note(err)
	switch _, err := d.conclude(withinDetached(ctx, end), next); {
	case neverFits(err):
		return d.inVain(ctx, err)
	case err != nil:
		return Inquired{Outcome: InquiryFailed, Err: err}
	case d.Report.Settlement == report.Elsewhere:
		return Inquired{Outcome: report.ReconcileElsewhere}
	default:
		return Inquired{Outcome: report.ReconcileCompleted}
	}
}

// ReconciledBy is who has settled a record that an inquiry completed.
const ReconciledBy = "reconciliation"

// untouched releases the record, as an operator does who says that nothing has happened: the next delivery executes, what was recorded
// stays, and the start marks go.
func (d *Delivery) untouched(ctx context.Context) Inquired {
	d.ended.untouched()
	next := d.released()
	if len(d.ended.held) == len(d.ended.idle) {
		next = unattended(next)
		next.Tries = 0
		return d.giveBack(ctx, next, Inquired{Outcome: report.ReconcileReleased})
	}
	if d.seenReason != store.ReasonReleased {
		return d.giveBack(ctx, next, Inquired{Outcome: report.ReconcileReleased, Next: next.AttentionAt})
	}
	// Half of it has been done, and nobody has come to finish it: somebody has to know.
	next.Tries = d.mine.Tries + 1
	i := d.again(&next, next.Tries, d.Now())
	if i.Outcome != report.ReconcileGivenUp {
		i.Outcome = report.ReconcileReleased
	}
	i.Reason = ""
	return d.giveBack(ctx, next, i)
}

// inVain puts the record back as it was found, for a later question.
func (d *Delivery) inVain(ctx context.Context, cause error) Inquired {
	return d.askAgain(ctx, d.mine.Tries+1, cause)
}

func (d *Delivery) askAgain(ctx context.Context, tries int, cause error) Inquired {
	next := d.stillOpen(tries)
	i := d.again(&next, tries, d.Now())
	i.Err = cause
	return d.giveBack(ctx, next, i)
}

// park puts the record back for a person.
func (d *Delivery) park(ctx context.Context, tries int) Inquired {
	next := d.stillOpen(tries)
	next.Attention, next.AttentionAt = store.ParkedOf(next.Key), d.Now().Truncate(time.Millisecond)
	return d.giveBack(ctx, next, Inquired{Outcome: report.ReconcileGivenUp, Reason: next.Reason, Tries: tries})
}

// stillOpen is our record as it was before we took it over, and nobody's.
func (d *Delivery) stillOpen(tries int) store.Record {
	if d.seenReason == store.ReasonReleased {
		next := d.released()
		next.Steps, next.Tries, next.Unmarked = nil, tries, d.mine.Unmarked
		return next
	}
	next := d.unknown(d.mine, d.seenReason, d.Now())
	next.Owner = rand.Text() // of nobody: somebody may have made the record UNKNOWN under ours, because our lease was over
	next.Lease, next.Derived, next.Tries = time.Time{}, d.handed.Sorted(), tries
	return next
}

// again says when the record is asked about next, if it is.
func (d *Delivery) again(next *store.Record, tries int, now time.Time) Inquired {
	q := d.inquiry
	last := q.MaxTries > 0 && tries >= q.MaxTries
	i := Inquired{Outcome: report.ReconcileScheduled, Reason: next.Reason, Tries: tries}
	now = now.Truncate(time.Millisecond)
	switch {
	case d.mine.Parked():
		next.Attention, next.AttentionAt = d.mine.Attention, d.openSince
		i.Outcome = report.ReconcileGivenUp
		return i
	case last && q.Park == nil:
		next.Attention, next.AttentionAt = store.ParkedOf(next.Key), now
		i.Outcome = report.ReconcileGivenUp
		return i
	case last && d.mine.Tries < q.MaxTries:
		next.AttentionAt = now // to be handed over
	default:
		next.AttentionAt = now.Add(q.Pause(tries)).Truncate(time.Millisecond)
	}
	next.Attention = store.AttentionOf(next.Key)
	i.Next = next.AttentionAt
	return i
}

// giveBack replaces our claim by a record of nobody.
func (d *Delivery) giveBack(ctx context.Context, next store.Record, i Inquired) Inquired {
	if next.Expiry.Before(d.mine.Expiry) { // what is recorded is not forgotten earlier because somebody was asked
		next.Expiry = d.mine.Expiry
	}
	end, err := d.settleEnd(ctx, time.Now(), 0)
	d.note(err)
	_, released, err := d.releaseAs(withinDetached(ctx, end), next)
	switch {
	case err != nil:
		return Inquired{Outcome: InquiryFailed, Err: errors.Join(i.Err, err)}
	case !released:
		return Inquired{Outcome: report.ReconcileElsewhere, Err: i.Err}
	default:
		return i
	}
}

// asksOnly refuses the steps and the commits of a resolver that has no delivery.
type asksOnly struct{}

func (asksOnly) Step(context.Context, string, execution.Effect) *execution.Fault {
	return stepRefused("a reconciliation asks what has happened, and runs nothing")
}

func (asksOnly) Commit(context.Context, any, store.Writes) *execution.CommitFault {
	return commitRefused("a reconciliation asks what has happened, and commits nothing")
}
