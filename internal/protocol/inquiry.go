package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Inquiry is one question about the record of an execution that ended without saying how. It claims
// the record as a delivery would, but there is no event, and nothing executes. It is used once, by
// one goroutine.
type Inquiry struct {
	*Settings
	RecordKey string
	// Ask asks the resolver, under a claim of the record. A panic of it is an error of the finding.
	Ask func(ctx context.Context, c execution.Claim) Resolution
	// Due leaves alone a record that is not due, or that was given up.
	Due bool
	// Pause is how long the record waits for its next question, after so many without an answer.
	Pause func(tries int) time.Duration
	// MaxTries is after how many questions without an answer the record is given up, 0 for never.
	// GiveUp hands it to somebody first; if it fails, the record is not given up. It may be nil.
	MaxTries int
	GiveUp   func(ctx context.Context, c execution.Claim, tries int) error

	claim  claim
	report report.Delivery
	// steps are those of the record, handed the names of the derived keys of the execution before.
	steps  stepsKnown
	handed execution.Names
}

// Inquired is what an [Inquiry] has made of its record. Its fields are those of Reconciled of
// package idempotent, which is made of it by conversion.
type Inquired struct {
	Outcome        report.ReconcileOutcome
	Attempt, Tries int
	Next           time.Time
	// Reason is why the record is UNKNOWN, or what is wrong with one that cannot be read.
	Reason      string
	Until       time.Time
	DerivedKeys []report.NamedKey
	// Err is also why the store could not answer, or the verdict not be stored.
	Err, StoreErr error
}

// The outcomes of an inquiry that found nothing out, beside those of [report.ReconcileOutcome].
const (
	// InquiryUnreadable: the record cannot be understood.
	InquiryUnreadable report.ReconcileOutcome = "unreadable"
	// InquiryFailed: the store could not answer, or take the verdict. What is claimed is due again
	// when its lease ends.
	InquiryFailed report.ReconcileOutcome = "failed"
)

// Run takes the record over, asks, and settles it.
func (q *Inquiry) Run(ctx context.Context) Inquired {
	q.claim = claimOf(q.Settings, q.RecordKey, "", &q.report)
	q.claim.as.Asks, q.claim.as.OnlyDue = true, q.Due
	t := q.claim.take(ctx)
	var i Inquired
	if t.claimed {
		i = q.ask(ctx)
		i.Attempt = q.claim.mine.Attempt
	} else {
		i = q.notAsked(t)
	}
	i.DerivedKeys, i.StoreErr = q.claim.keysOf(&q.handed), q.report.StoreErr
	return i
}

// notAsked says why the record was not taken.
func (q *Inquiry) notAsked(t taking) Inquired {
	switch {
	case t.unanswered != nil:
		if r := unanswered(t.unanswered); r.Outcome == report.Unreadable {
			return Inquired{Outcome: InquiryUnreadable, Reason: r.Reason, Err: r.Err}
		}
		return Inquired{Outcome: InquiryFailed, Err: t.unanswered}
	case t.Verdict == life.Busy:
		return Inquired{Outcome: report.ReconcileBusy, Until: t.held.ProtectedUntil()}
	case t.Verdict == life.Unreadable:
		return Inquired{Outcome: InquiryUnreadable, Reason: t.Reason}
	default:
		return Inquired{Outcome: report.ReconcileClosed}
	}
}

// ask asks under the claim, and settles the record, whichever way that ends.
func (q *Inquiry) ask(ctx context.Context) Inquired {
	c := &q.claim
	q.steps = stepsOf(c)
	q.report.Recovered = true
	under := c.execution(&q.handed)
	under.Steps, under.Commits = asksOnly{c}, asksOnly{c}
	hctx, end := c.handlerContext(execution.With(ctx, under))
	tries := c.mine.Tries
	// One that was asked about often enough is handed to somebody before it is given up.
	if q.GiveUp != nil && q.MaxTries > 0 && tries >= q.MaxTries && !c.mine.GivenUp() {
		err := q.GiveUp(hctx, under, tries)
		end()
		if err != nil {
			return q.askAgain(hctx, tries, fmt.Errorf("hand over a record to be given up: %w", err))
		}
		next := life.GaveUp(q.stillOpen(tries, nil), c.Now())
		return q.giveBack(hctx, next, Inquired{Outcome: report.ReconcileGivenUp, Reason: next.Reason, Tries: tries})
	}
	found := q.Ask(hctx, under)
	late := hctx.Err() != nil
	end()
	switch {
	case found.Finding == execution.HasExecuted && found.ResultErr == nil:
		return q.found(hctx, found.Result)
	case found.Finding == execution.Untouched && late: // somebody else may own the record
		return q.inVain(hctx, errTooLate)
	case found.Finding == execution.Untouched:
		return q.untouched(hctx)
	default:
		return q.inVain(hctx, found.ResultErr)
	}
}

// errTooLate is why a resolver was not believed that said that nothing had happened.
var errTooLate = errors.New("the resolver answered after the time for it")

// found completes the record with the result that the resolver found.
func (q *Inquiry) found(ctx context.Context, result []byte) Inquired {
	c := &q.claim
	next := c.as.Completed(c.mine, "", result, c.Now())
	next.SettledBy, next.SettledAt = ReconciledBy, next.CompletedAt
	next.SettledReason = "a resolver found the result of the execution"
	i := q.giveBack(ctx, next, Inquired{Outcome: report.ReconcileCompleted})
	switch {
	case neverFits(i.Err):
		return q.inVain(ctx, i.Err)
	case i.Outcome == report.ReconcileElsewhere:
		c.note(execution.ErrLeaseLost)
	}
	return i
}

// ReconciledBy is who has settled a record that an inquiry completed.
const ReconciledBy = "reconciliation"

// untouched releases the record, as an operator does who says that nothing has happened: the next
// delivery executes, what was recorded stays, and the start marks go.
func (q *Inquiry) untouched(ctx context.Context) Inquired {
	c, k := &q.claim, &q.steps
	k.untouched()
	left := k.left(q.handed.Sorted())
	next := c.as.Released(c.mine, left, c.Now())
	if !left.Keeps || c.before.Reason != store.ReasonReleased {
		return q.giveBack(ctx, next, Inquired{Outcome: report.ReconcileReleased, Next: next.AttentionAt})
	}
	// Half of it has been done, and nobody has come to finish it: somebody has to know.
	next.Tries = c.mine.Tries + 1
	i := q.again(&next, next.Tries, c.Now())
	if i.Outcome != report.ReconcileGivenUp {
		i.Outcome = report.ReconcileReleased
	}
	i.Reason = ""
	return q.giveBack(ctx, next, i)
}

// inVain puts the record back as it was found, for a later question.
func (q *Inquiry) inVain(ctx context.Context, cause error) Inquired {
	return q.askAgain(ctx, q.claim.mine.Tries+1, cause)
}

func (q *Inquiry) askAgain(ctx context.Context, tries int, cause error) Inquired {
	next := q.stillOpen(tries, cause)
	i := q.again(&next, tries, q.Now())
	i.Err = cause
	return q.giveBack(ctx, next, i)
}

// stillOpen is our record as it was before we took it over, and nobody's.
func (q *Inquiry) stillOpen(tries int, cause error) store.Record {
	c := &q.claim
	return c.as.PutBack(c.mine, c.before, tries,
		life.Ended{Failure: errortype.Of(cause), Derived: q.handed.Sorted()}, c.Now())
}

// again says when the record is asked about next, if it is.
func (q *Inquiry) again(next *store.Record, tries int, now time.Time) Inquired {
	mine := q.claim.mine
	last := q.MaxTries > 0 && tries >= q.MaxTries
	i := Inquired{Outcome: report.ReconcileScheduled, Reason: next.Reason, Tries: tries}
	now = now.Truncate(time.Millisecond)
	switch {
	case mine.GivenUp():
		next.Attention, next.AttentionAt = mine.Attention, q.claim.before.AttentionAt
		i.Outcome = report.ReconcileGivenUp
		return i
	case last && q.GiveUp == nil:
		*next = life.GaveUp(*next, now)
		i.Outcome = report.ReconcileGivenUp
		return i
	case last && mine.Tries < q.MaxTries:
		next.AttentionAt = now // to be handed over
	default:
		next.AttentionAt = now.Add(q.Pause(tries)).Truncate(time.Millisecond)
	}
	next.Attention = store.AttentionOf(next.Key)
	i.Next = next.AttentionAt
	return i
}

// giveBack replaces our claim by the record it ends in. What is recorded is not forgotten earlier
// because somebody was asked.
func (q *Inquiry) giveBack(ctx context.Context, next store.Record, i Inquired) Inquired {
	c := &q.claim
	if next.Status != store.StatusCompleted && next.Expiry.Before(c.mine.Expiry) {
		next.Expiry = c.mine.Expiry
	}
	end, err := c.settleEnd(ctx, transferTime(len(next.Result)))
	c.note(err)
	_, ours, err := c.conclude(context.WithoutCancel(ctx), end, next, q.steps.held,
		func(store.Record) bool { return false })
	switch {
	case err != nil:
		return Inquired{Outcome: InquiryFailed, Err: errors.Join(i.Err, err)}
	case !ours:
		return Inquired{Outcome: report.ReconcileElsewhere, Err: i.Err}
	default:
		return i
	}
}

// asksOnly refuses the steps and the commits of a resolver that has no delivery.
type asksOnly struct{ *claim }

func (a asksOnly) Step(_ context.Context, name string, _ execution.Effect) *execution.Fault {
	return a.blame(stepRefused("a reconciliation asks what has happened, and runs nothing"), name)
}

func (a asksOnly) Commit(context.Context, any, store.Writes, error) error {
	return a.told(commitRefused("a reconciliation asks what has happened, and commits nothing"))
}
