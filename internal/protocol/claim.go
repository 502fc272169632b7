package protocol

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// claim is one claim of a record, by a delivery or by an inquiry, from its first write to its last.
// It belongs to one goroutine, but for the renewal of its lease and what looks at that.
type claim struct {
	*Settings

	// as is who claims: the key, the request, the token of this claim, and the lease that it takes.
	as life.Claimant
	// report is filled in on the way.
	report *report.Delivery
	// started and deadline (zero for none) are by the clock of contexts.
	started, deadline time.Time
	// heartbeat says that the lease is short and renewed, and does not last until the deadline.
	heartbeat bool
	// gone says that the lease cannot be held any more: a renewal has met somebody else's record,
	// or none was answered in time. A step or a commit with a context of its own learns it here.
	gone      atomic.Bool
	protected protected
	// mine is the record as this claim wrote it last, and before is what it has taken over.
	mine   store.Record
	before life.Before
	// beside is the renewal beside the handler. handlerEnd is the deadline of the handler's
	// context, zero for none, and reserve is how long before the deadline that is.
	beside     background
	handlerEnd time.Time
	reserve    time.Duration
}

// claimOf is a claim that has not begun.
func claimOf(s *Settings, key, fingerprint string, r *report.Delivery) claim {
	as := life.Claimant{
		Policy: s.Policy, Key: key, Fingerprint: fingerprint, Marks: s.Marks.sorted(),
	}
	if s.RefuseCrashed {
		as.Derived = s.Learned.Sorted()
	}
	as.UnknownRetention = s.Timing.UnknownRetention
	return claim{Settings: s, report: r, as: as}
}

// undoBudget is the part of the claim budget that is kept for undoing a claim of unknown outcome,
// at most a third.
const undoBudget = 500 * time.Millisecond

// maxClaims bounds how often a claim is begun anew because it took too long.
const maxClaims = 3

var errSlow = errors.New("every claim took so long that its lease was partly used up")

// taking is how the taking of a record has ended.
type taking struct {
	life.Judgement

	// held is the record that decided. unanswered is why none has: the store could not answer.
	held       store.Record
	at         time.Time
	unanswered error
	// claimed says that the record is ours.
	claimed bool
}

// take takes the record under a lease that has just begun, or says why not. A claim that took long,
// on a slow network or on a machine that was suspended, is taken back and begun anew: the handler
// never starts under a lease that is partly used up.
func (c *claim) take(ctx context.Context) taking {
	for range maxClaims {
		c.begin(ctx)
		t := c.tryTake(ctx)
		if !t.claimed || !c.worn() {
			return t
		}
		c.undo(ctx, t.Judgement, c.endOf(undoBudget))
		if c.over(time.Now()) {
			break
		}
	}
	return taking{unanswered: errSlow}
}

// over reports whether the deadline has come.
func (c *claim) over(now time.Time) bool { return !c.deadline.IsZero() && !now.Before(c.deadline) }

// endOf is when a budget ends that starts now: in time to answer before the deadline, unless that
// has come, and the process still lives.
func (c *claim) endOf(budget time.Duration) time.Time {
	now := time.Now()
	if c.deadline.After(now) && c.deadline.Before(now.Add(budget)) {
		return answerable(c.deadline, now)
	}
	return now.Add(budget)
}

// tryTake takes the record by one token, or says why not. Every record that is held goes through
// package life.
//
// A write whose outcome is unknown is repeated with the same token: if it was applied after all,
// the record that refuses the repetition is our own. If the budget ends before that is known, the
// write is undone, and the token never executes, whatever the undo finds.
func (c *claim) tryTake(ctx context.Context) taking {
	longest := c.Timing.ClaimBudget
	if c.heartbeat {
		// The lease runs already. What the claim leaves of it must do for the first renewal.
		longest = min(longest, (c.Timing.Lease-c.Timing.Margin)/2)
	}
	end := budgetEnd(ctx, c.started, longest)
	tries := end.Add(-min(undoBudget, end.Sub(c.started)/3))

	now := c.Now()
	m := life.Judgement{Verdict: life.Look} // a delivery takes the key at once, as if nobody held it
	if !c.as.Asks {
		m = c.as.Meets(store.Record{}, now)
	}
	var f failures
	for moves := 0; moves < maxMoves; now = c.Now() {
		var (
			held store.Record
			won  bool
			err  error
		)
		if m.Verdict == life.Look {
			held, err = c.look(ctx, tries)
		} else {
			held, won, err = c.write(ctx, tries, m.Seen, m.Next, now)
		}
		// What met a transaction, or another writer of the same item, reads, instead of repeating
		// the write: many duplicates of one request must not keep the owner from its commit.
		failed, is := errors.AsType[*store.Error](err)
		busy := is && failed.Kind == store.FailureConflict && failed.NotApplied
		if busy {
			f.note(m, err)
			held, err = c.look(ctx, tries)
		}
		if err != nil {
			f.note(m, err)
			if store.MayPass(err) && f.wait(ctx, tries) {
				continue
			}
			return c.giveUp(ctx, &f, f.cause, end)
		}
		switch {
		case m.Verdict == life.Refuse && (won || life.Landed(held, m.Next)): // its reply was lost
			c.report.Settlement = report.Unknown
			return taking{Judgement: m, held: m.Next}
		case won && m.Verdict == life.Begin:
			c.mine, c.before = m.Next, m.Before
			return taking{Judgement: m, held: m.Next, claimed: true}
		case won:
			c.mine, c.before = held, m.Before // a stale owner may have written a step since we looked
			return taking{Judgement: m, held: held, claimed: true}
		}
		j := c.as.Meets(held, now)
		switch j.Verdict {
		case life.Ours:
			c.mine, c.before = held, m.Before
			return taking{Judgement: m, held: held, claimed: m.Verdict != life.Refuse}
		case life.Begin, life.TakeOver, life.Refuse:
			m = j
		default:
			return taking{Judgement: j, held: held, at: now}
		}
		if !busy {
			moves++
		} else if !f.wait(ctx, tries) {
			return c.giveUp(ctx, &f, f.cause, end)
		}
	}
	return c.giveUp(ctx, &f, errRestless, end)
}

// giveUp ends a claim that the store could not decide. What may have been applied of it is undone.
func (c *claim) giveUp(ctx context.Context, f *failures, cause error, end time.Time) taking {
	if f.unresolved != nil {
		c.undo(ctx, *f.unresolved, end)
	}
	return taking{unanswered: cause}
}

// worn reports whether the lease of our claim has lost more than it may before the handler starts:
// the deadline has come, or the lease ends well before one would that is taken now.
func (c *claim) worn() bool {
	now := time.Now()
	if c.over(now) {
		return true
	}
	lost := c.Timing.Margin / 2
	if c.heartbeat {
		lost = c.Timing.Lease / 3 // when the first renewal is due
	}
	return c.mine.Lease.Before(c.leaseFrom(now).Add(-lost))
}

// failures are those of the writes of one claim.
type failures struct {
	count int
	// cause is why the store could not answer, rather than that time ran out.
	cause error
	// unresolved is the last write of our token that may have been applied unseen.
	unresolved *life.Judgement
}

// note takes note of a failure of a write, or of a look.
func (f *failures) note(m life.Judgement, err error) {
	if m.Verdict != life.Refuse && m.Verdict != life.Look && mayBeApplied(err) {
		f.unresolved = &m
	}
	if f.cause == nil || !timedOut(err) {
		f.cause = err
	}
}

// wait waits before the same is sent again, and reports whether there is time for that.
func (f *failures) wait(ctx context.Context, tries time.Time) bool {
	f.count++
	return pause(ctx, tries, f.count)
}

// undo takes back a write of our token that may have been applied. It works on a context of its
// own: the caller's may have ended. If it fails, the lease bounds how long the key stays blocked.
func (c *claim) undo(ctx context.Context, m life.Judgement, end time.Time) {
	ours := life.Unleased(m.Next)
	if m.Verdict == life.Begin {
		ours.StepWrites = 0 // nothing ran under it
	}
	_ = retry(context.WithoutCancel(ctx), end, func(ctx context.Context) (err error) {
		if m.Verdict == life.Begin {
			_, err = c.Store.Delete(ctx, ours)
		} else {
			_, _, err = c.Store.Swap(ctx, ours, life.TakenBack(m.Seen, c.Now()))
		}
		c.note(err) // also where a later try succeeds
		return err
	})
}

// note keeps a failure of the store that does not decide the result, for the observer.
func (c *claim) note(err error) {
	if err != nil {
		c.report.StoreErr = err
	}
}
