package idempotent

import (
	"context"
	"errors"
	"time"
)

// undoBudget is the part of the claim budget that is kept for undoing a claim of unknown outcome; of a short budget, or
// with a deadline that is near, a third.
const undoBudget = 500 * time.Millisecond

// maxMoves bounds how often a claim follows a record that changes under its eyes.
const maxMoves = 10

// move is one conditional write of a claim.
type move struct {
	kind moveKind
	// seen and next are the arguments of Swap; a claim has only next.
	seen, next Record
}

type moveKind int

const (
	moveClaim    moveKind = iota // take a key that nobody holds
	moveTakeOver                 // take a record that lapsed, or that a resolver is to settle
	moveRefuse                   // turn a lapsed record into UNKNOWN
)

// claim takes the record, or says why not. Every record that is held goes through judge.
//
// A write whose outcome is unknown is repeated with the same token: if it had been applied after all, the record that
// refuses the repetition is our own. If the budget ends before that is known, the write is undone, and the token never
// executes, whatever the undo finds.
func (v *invocation) claim(ctx context.Context) (answer, bool) {
	longest := v.timing.ClaimBudget
	if v.deadline.IsZero() {
		// The lease runs already. What the claim leaves of it must do for the first renewal.
		longest = min(longest, (v.timing.Lease-v.timing.Margin)/2)
	}
	end := budgetEnd(ctx, longest)
	tries := within(ctx, end.Add(-min(undoBudget, time.Until(end)/3)))

	m := move{kind: moveClaim, next: v.fresh()}
	var f failures
	for moves := 0; moves < maxMoves; {
		now := v.now()
		held, won, err := v.send(tries, m, now)
		if err != nil {
			if f.repeat(tries, m, err) {
				continue
			}
			if f.unresolved != nil {
				v.undo(ctx, *f.unresolved, end)
			}
			return v.failed(f.cause), false
		}
		if won && m.kind == moveRefuse {
			return v.unknown(m.next.Reason), false
		}
		if won {
			v.mine = m.next
			return answer{}, true
		}

		moves++
		d := v.judge(tries, held, now)
		if d.mine {
			v.mine = held
			return answer{}, true
		}
		if d.move == nil {
			return d.answer, false
		}
		m = *d.move
	}
	return v.unavailable(errors.New("the record changed at every look")), false
}

// failures are those of the writes of one claim.
type failures struct {
	count int
	// cause is why the store could not answer, rather than that time ran out.
	cause error
	// unresolved is the last write of our token that may have been applied unseen.
	unresolved *move
}

// repeat takes note of a failure, waits, and reports whether the move shall be sent again.
func (f *failures) repeat(ctx context.Context, m move, err error) bool {
	if m.kind != moveRefuse && mayBeApplied(err) {
		f.unresolved = &m
	}
	if f.cause == nil || !timedOut(err) {
		f.cause = err
	}
	f.count++
	return mayPass(err) && pause(ctx, f.count)
}

// send tries a move once, within half of the time that is left: a lost reply must leave time to ask again.
func (v *invocation) send(ctx context.Context, m move, now time.Time) (Record, bool, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	if m.kind == moveClaim {
		return v.store.Claim(ctx, m.next, now)
	}
	return v.store.Swap(ctx, m.seen, m.next)
}

// fresh is the record of a first claim.
func (v *invocation) fresh() Record {
	now := v.now()
	return v.claimed(Record{
		Key:         v.recordKey,
		Fingerprint: v.fingerprint,
		CreatedAt:   now.Truncate(time.Millisecond),
	})
}

// claimed is r as this invocation claims it. What it does not name survives a takeover.
func (v *invocation) claimed(r Record) Record {
	r.Status, r.Owner, r.Reason = StatusInProgress, v.owner, ""
	r.Lease = v.lease
	r.Layout = v.layout()
	r.Expiry = v.expiryInProgress(r.Lease)
	r.Attempt++
	return r
}

// expiryInProgress keeps a crashed record for its settlement where the policy wants one.
func (v *invocation) expiryInProgress(lease time.Time) time.Time {
	keep := v.retention
	if v.crash == Refuse {
		keep = v.timing.UnknownRetention
	}
	return expiryAt(v.now().Add(keep), lease)
}

// undo takes back a write of our token that may have been applied. It works on a context of its own: the caller's may
// have ended. If it fails, the lease bounds how long the key stays blocked.
func (v *invocation) undo(ctx context.Context, m move, end time.Time) {
	ctx = withinDetached(ctx, end)
	for failures := 1; ; failures++ {
		err := v.takeBack(ctx, m)
		if err == nil {
			return
		}
		v.event.StoreErr = err
		if !mayPass(err) || !pause(ctx, failures) {
			return
		}
	}
}

func (v *invocation) takeBack(ctx context.Context, m move) error {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	ours := unleased(m.next)
	if m.kind == moveClaim {
		_, err := v.store.Delete(ctx, ours)
		return err
	}
	// What was seen comes back, but under our token: a repetition of our takeover, still on its way, must not match.
	restored := m.seen
	restored.Owner = v.owner
	if restored.Lease.IsZero() {
		restored.Lease = leaseEnd(v.now())
	}
	_, _, err := v.store.Swap(ctx, ours, restored)
	return err
}

// unleased is a record of our own as Swap and Delete are to compare it: by its token, not by its lease, which a renewal
// whose reply was lost may have moved; and with an expiry that is always written anew.
func unleased(mine Record) Record {
	mine.Lease, mine.Expiry = time.Time{}, time.Time{}
	return mine
}
