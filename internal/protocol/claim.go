package protocol

import (
	"context"
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// undoBudget is the part of the claim budget that is kept for undoing a claim of unknown outcome; of a short budget, or
// with a deadline that is near, a third.
const undoBudget = 500 * time.Millisecond

// maxClaims bounds how often a claim is begun anew because it took too long.
const maxClaims = 3

var errSlow = errors.New("every claim took so long that its lease was partly used up")

// claim takes the record under a lease that has just begun, or says why not. A claim that took long, on a slow network or on a
// machine that was suspended, is taken back and begun anew: the handler never starts under a lease that is partly used up.
func (d *Delivery) claim(ctx context.Context) (Result, bool) {
	for range maxClaims {
		d.begin(ctx)
		r, taken, claimed := d.tryClaim(ctx)
		if !claimed || !d.worn() {
			return r, claimed
		}
		d.undo(ctx, taken, d.undoEnd(time.Now()))
		if d.over(time.Now()) {
			break
		}
	}
	return unanswered(errSlow), false
}

// over reports whether the deadline has come: the handler's context would have ended before it starts.
func (d *Delivery) over(now time.Time) bool { return !d.deadline.IsZero() && !now.Before(d.deadline) }

// undoEnd bounds the undo of a claim that took long: by the invocation's deadline, or, if that has come and the process still
// lives, by a budget that the margin of the lease covers.
func (d *Delivery) undoEnd(now time.Time) time.Time {
	end := now.Add(undoBudget)
	if !d.over(now) && d.deadline.Before(end) && !d.deadline.IsZero() {
		return answerable(d.deadline, now)
	}
	return end
}

// tryClaim takes the record by one token, or says why not. Every record that is held goes through judge.
//
// A write whose outcome is unknown is repeated with the same token: if it had been applied after all, the record that
// refuses the repetition is our own. If the budget ends before that is known, the write is undone, and the token never
// executes, whatever the undo finds.
func (d *Delivery) tryClaim(ctx context.Context) (r Result, taken move, claimed bool) {
	longest := d.Timing.ClaimBudget
	if d.heartbeat {
		// The lease runs already. What the claim leaves of it must do for the first renewal.
		longest = min(longest, (d.Timing.Lease-d.Timing.Margin)/2)
	}
	end := budgetEnd(ctx, longest)
	tries := within(ctx, end.Add(-min(undoBudget, time.Until(end)/3)))

	m := d.firstMove()
	var f failures
	for moves := 0; moves < maxMoves; {
		now := d.Now()
		held, won, err := d.send(tries, m, now)
		busy := inTransaction(err)
		if busy {
			f.note(m, err)
			held, err = d.look(tries)
		}
		if err != nil {
			if f.repeat(tries, m, err) {
				continue
			}
			return d.giveUp(ctx, &f, f.cause, end), m, false
		}
		if won && m.kind == moveTakeOver {
			d.mine = held // a stale owner may have written a step since we looked
			return Result{}, m, true
		}
		won = won || m.refused(held) // and the reply was lost
		if won && m.kind == moveRefuse {
			d.Report.Settlement = report.Unknown
			return Result{Outcome: report.UnknownOutcome, Reason: m.next.Reason}, m, false
		}
		if won {
			d.mine = m.next
			return Result{}, m, true
		}

		switch j := d.judge(held, now); j.verdict {
		case verdictOurs:
			d.mine = held
			return Result{}, m, true
		case verdictMove:
			m = j.move
		case verdictReplay:
			return d.replay(tries, held), m, false
		case verdictAnswer:
			return j.result, m, false
		}
		if !busy {
			moves++
		} else if !f.wait(tries) {
			return d.giveUp(ctx, &f, f.cause, end), m, false
		}
	}
	return d.giveUp(ctx, &f, errRestless, end), m, false
}

// refused reports whether a record is what the move has made of it, UNKNOWN. The owner in it is not ours, so the instant tells.
func (m move) refused(held store.Record) bool {
	return m.kind == moveRefuse && held.Status == store.StatusUnknown && held.Owner == m.next.Owner &&
		held.AttentionAt.Equal(m.next.AttentionAt)
}

// giveUp ends a claim that the store could not decide. What may have been applied of it is undone.
func (d *Delivery) giveUp(ctx context.Context, f *failures, cause error, end time.Time) Result {
	if f.unresolved != nil {
		d.undo(ctx, *f.unresolved, end)
	}
	return unanswered(cause)
}

// worn reports whether the lease of our claim has lost more than it may before the handler starts: the deadline has come, or
// the lease ends well before one would that is taken now.
func (d *Delivery) worn() bool {
	if d.over(time.Now()) {
		return true
	}
	lost := d.Timing.Margin / 2
	if d.heartbeat {
		lost = d.Timing.Lease / 3 // when the first renewal is due
	}
	return d.mine.Lease.Before(d.leaseFromNow().Add(-lost))
}

// failures are those of the writes of one claim.
type failures struct {
	count int
	// cause is why the store could not answer, rather than that time ran out.
	cause error
	// unresolved is the last write of our token that may have been applied unseen.
	unresolved *move
}

// note takes note of a failure of a move.
func (f *failures) note(m move, err error) {
	if m.kind != moveRefuse && m.kind != moveLook && mayBeApplied(err) {
		f.unresolved = &m
	}
	if f.cause == nil || !timedOut(err) {
		f.cause = err
	}
}

// repeat takes note of a failure, waits, and reports whether the move shall be sent again.
func (f *failures) repeat(ctx context.Context, m move, err error) bool {
	f.note(m, err)
	return store.MayPass(err) && f.wait(ctx)
}

func (f *failures) wait(ctx context.Context) bool {
	f.count++
	return pause(ctx, f.count)
}

// send tries a move once, within half of the time that is left: a lost reply must leave time to ask again.
func (d *Delivery) send(ctx context.Context, m move, now time.Time) (store.Record, bool, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	switch m.kind {
	case moveClaim:
		return d.Store.Claim(ctx, m.next, now)
	case moveLook:
		held, _, err := d.Store.Get(ctx, d.RecordKey)
		return held, false, err
	default:
		return d.Store.Swap(ctx, m.seen, m.next)
	}
}

// firstMove is what a claim begins with: a delivery takes the key, as if nobody held it; an inquiry looks who does.
func (d *Delivery) firstMove() move {
	if d.inquiry != nil {
		return move{kind: moveLook}
	}
	return move{kind: moveClaim, next: d.fresh()}
}

// undo takes back a write of our token that may have been applied. It works on a context of its own: the caller's may
// have ended. If it fails, the lease bounds how long the key stays blocked.
func (d *Delivery) undo(ctx context.Context, m move, end time.Time) {
	d.note(retry(withinDetached(ctx, end), func(ctx context.Context) error {
		err := d.takeBack(ctx, m)
		d.note(err) // also where a later try succeeds
		return err
	}))
}

func (d *Delivery) takeBack(ctx context.Context, m move) error {
	ours := unleased(m.next)
	if m.kind == moveClaim {
		ours.StepWrites = 0 // nothing ran under it
		_, err := d.Store.Delete(ctx, ours)
		return err
	}
	_, _, err := d.Store.Swap(ctx, ours, d.takenBack(m.seen))
	return err
}
