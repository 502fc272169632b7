package idempotent

import (
	"context"
	"errors"
	"strings"
	"time"
)

// lastWordBudget is the part of a settlement that is kept for marking a record whose result could not be stored.
const lastWordBudget = 500 * time.Millisecond

// longWrite is the size of a result in bytes whose write is not cut short to try again: a store may write it piece by
// piece, and would begin anew.
const longWrite = 256 << 10

// settle ends the claim: it completes the record, makes it UNKNOWN, or releases it. It reports whether the handler's
// own result is the answer; if not, someone else's is. No failure here hides that result, and none leads to
// a second execution that the caller could have been spared.
//
// ctx gives the values of the handler's context; its end does not count any more.
func (v *invocation) settle(ctx context.Context, e ending) (answer, bool) {
	started := time.Now()
	defer func() { v.event.Settle = time.Since(started) }()

	ctx = withinDetached(ctx, v.settleEnd(started))
	switch e.fate {
	case fateComplete:
		return v.complete(ctx, e)
	case fateUnknown:
		return v.becomeUnknown(ctx, e.reason)
	default:
		v.release(ctx)
		return executed, true
	}
}

// settleEnd bounds a settlement: by the invocation's deadline, when Lambda kills the process, and by the budget that an
// outage may take. A handler that has overrun its deadline and still lives gets the reserve, which the margin of the lease
// covers.
func (v *invocation) settleEnd(now time.Time) time.Time {
	end := now.Add(v.timing.ClaimBudget)
	switch {
	case v.deadline.IsZero() || v.deadline.After(end):
		return end
	case v.deadline.After(now):
		return answerable(v.deadline, now)
	default:
		return now.Add(min(v.timing.Reserve, v.timing.ClaimBudget))
	}
}

// complete stores the result. If it cannot, a last small write says that the effect happened and its result is
// lost: nobody must execute again.
func (v *invocation) complete(ctx context.Context, e ending) (answer, bool) {
	kept, reason, err := v.kept(e)
	if err != nil {
		v.event.StoreErr = err
		return v.becomeUnknown(ctx, reason)
	}
	next := v.mine
	next.Status, next.Reason, next.Result = StatusCompleted, e.reason, kept
	next.Commit = Commit(v.owner, kept)
	next.Expiry = expiryAt(v.now().Add(v.retention), time.Time{})
	next.Lease = time.Time{}

	a, own, err := v.conclude(keepForLast(ctx), next)
	if err != nil {
		v.event.StoreErr = err
		return v.becomeUnknown(ctx, reasonResultLost)
	}
	if v.event.Settlement == SettledCompleted {
		v.event.ResultBytes = len(e.result)
	}
	return a, own
}

// becomeUnknown makes the record UNKNOWN. The handler's own result or error stays the answer.
func (v *invocation) becomeUnknown(ctx context.Context, reason string) (answer, bool) {
	next := v.mine
	next.Status, next.Reason = StatusUnknown, reason
	next.Expiry = expiryAt(v.now().Add(v.timing.UnknownRetention), time.Time{})
	next.Lease = time.Time{}
	a, own, err := v.conclude(ctx, next)
	if err != nil {
		v.event.Settlement, v.event.StoreErr = SettledFailed, err
		return executed, true
	}
	if v.event.Settlement == SettledUnknown {
		v.event.Reason = reason
	}
	return a, own
}

// conclude replaces our claim by next, the record it ends in. It returns an error if the store did not let it.
func (v *invocation) conclude(ctx context.Context, next Record) (answer, bool, error) {
	seen, absent := unleased(v.mine), false
	for failures, moves := 0, 0; moves < maxMoves; {
		now := v.now()
		held, written, err := v.write(ctx, absent, seen, next, now)
		switch {
		case err != nil:
			failures++
			if !mayPass(err) || !pause(ctx, failures) {
				return answer{}, false, err
			}
			continue
		case written:
			return v.settled(next)
		}

		moves++
		absent = false
		switch {
		case strings.HasPrefix(held.Commit, v.owner+"."):
			return v.settled(held) // the reply was lost, the write was not
		case held.Key == "" || held.Claimable(now):
			absent = true // deleted meanwhile: the result is stored if nobody else claims first
		case held.Owner == v.owner && held.Status != StatusCompleted:
			if held.Status == next.Status {
				return v.settled(next)
			}
			seen = unleased(held) // someone found our lease lapsed; we still bring the result
		case next.Status == StatusCompleted && v.lapsedElsewhere(held, now):
			seen = held // they crashed too: complete in their place
		default:
			a, own := v.elsewhere(ctx, held, next.Status, now)
			return a, own, nil
		}
	}
	return answer{}, false, errors.New("the record changed at every look")
}

func (v *invocation) write(ctx context.Context, absent bool, seen, next Record, now time.Time) (Record, bool, error) {
	part := halfOf
	if len(next.Result) >= longWrite {
		part = wholeOf
	}
	ctx, cancel := part(ctx)
	defer cancel()
	if absent {
		return v.store.Claim(ctx, next, now)
	}
	return v.store.Swap(ctx, seen, next)
}

// settled is the answer once the record is ours in the state that is given.
func (v *invocation) settled(r Record) (answer, bool, error) {
	if r.Status == StatusUnknown {
		v.event.Settlement = SettledUnknown
		return executed, true, nil
	}
	v.event.Settlement = SettledCompleted
	return answer{outcome: OutcomeExecuted, expires: r.Expiry}, true, nil
}

func (v *invocation) lapsedElsewhere(held Record, now time.Time) bool {
	_, same := v.sameRequest(held)
	return same && held.Status == StatusInProgress && held.lapsed(now)
}

// elsewhere decides what a caller gets whose lease was lost to someone else. If they stand for the same request, their
// answer is the one that all callers agree on; in every other case the handler's own result is.
func (v *invocation) elsewhere(ctx context.Context, held Record, ours Status, now time.Time) (answer, bool) {
	v.event.Settlement, v.event.StoreErr = SettledElsewhere, ErrLeaseLost
	if _, same := v.sameRequest(held); !same || ours != StatusCompleted {
		return executed, true
	}
	switch held.Status {
	case StatusCompleted:
		a := v.replay(ctx, held)
		if a.outcome != OutcomeReplayed {
			v.event.StoreErr = a.err
			return executed, true
		}
		return a, false
	case StatusInProgress:
		return v.inProgress(held, now), false
	default:
		return executed, true
	}
}

// release deletes the record, so that the next delivery executes. Its failure goes to the observer; the lease bounds
// what it costs.
func (v *invocation) release(ctx context.Context) {
	ours := unleased(v.mine)
	for failures := 0; ; {
		deleted, err := v.tryDelete(ctx, ours)
		if err != nil {
			failures++
			if mayPass(err) && pause(ctx, failures) {
				continue
			}
			v.event.Settlement, v.event.StoreErr = SettledFailed, err
			return
		}
		v.event.Settlement = SettledReleased
		if !deleted && failures == 0 {
			v.event.Settlement, v.event.StoreErr = SettledElsewhere, ErrLeaseLost
		}
		return
	}
}

func (v *invocation) tryDelete(ctx context.Context, seen Record) (bool, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	return v.store.Delete(ctx, seen)
}

// keepForLast ends early enough for the last word on a result that could not be stored.
func keepForLast(ctx context.Context) context.Context {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx
	}
	return within(ctx, deadline.Add(-min(lastWordBudget, time.Until(deadline)/4)))
}
