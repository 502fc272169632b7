package protocol

import (
	"context"
	"maps"
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

// lastWordBudget is the part of a settlement that is kept for marking a record whose result could
// not be stored.
const lastWordBudget = 500 * time.Millisecond

// conclude replaces our claim by next, the record it ends in. It returns the record that is there
// then, and whether that is ours: as this write made it, an earlier one, or a commit. steps are
// those that our record has, and hasLanded tells the commits of the execution. It returns an error
// if the store did not let it.
func (c *claim) conclude(
	ctx context.Context, next store.Record, steps map[string]store.Step, hasLanded func(store.Record) bool,
) (held store.Record, ours bool, err error) {
	seen, absent := life.Unleased(c.mine), false
	seen.Steps = steps
	for failures, moves := 0, 0; moves < maxMoves; {
		now := c.Now()
		held, written, err := c.write(ctx, absent, seen, next, now)
		switch {
		case err != nil:
			failures++
			if !store.MayPass(err) || !pause(ctx, failures) {
				return held, false, err
			}
			continue
		case written:
			return next, true, nil
		}

		moves++
		absent = false
		switch {
		case hasLanded(held):
			return held, true, nil
		case life.CompletedBy(held, c.as.Owner):
			return held, true, nil // the reply was lost, the write was not
		case !c.as.Asks && life.Of(held, now) == life.Free:
			absent = true // deleted meanwhile: the result is stored if nobody else claims first
		case held.Owner == c.as.Owner && held.Status != store.StatusCompleted:
			if held.Status == next.Status {
				return next, true, nil
			}
			seen = life.Unleased(held) // someone found that our lease had ended; we still bring the result
			seen.Steps = allSteps(held.Steps, steps)
		case next.Status == store.StatusCompleted && c.as.MayComplete(held, c.mine, now):
			seen = held // they crashed too: complete in their place
		default:
			return held, false, nil
		}
	}
	return held, false, errRestless
}

// allSteps are the steps that a completion drops: those of the record that is replaced, and those
// that are known.
func allSteps(held, known map[string]store.Step) map[string]store.Step {
	if len(held) == 0 {
		return known
	}
	all := maps.Clone(held)
	maps.Copy(all, known)
	return all
}

// releaseAs replaces our claim by a record of nobody, and returns the record that is there then.
func (c *claim) releaseAs(ctx context.Context, next store.Record) (held store.Record, released bool, _ error) {
	seen := life.Unleased(c.mine)
	tries, kept := 0, false
	err := retry(ctx, func(ctx context.Context) (err error) {
		tries++
		for range maxMoves {
			var swapped bool
			if held, swapped, err = c.Store.Swap(ctx, seen, next); err != nil {
				return err
			}
			kept = swapped || life.Landed(held, next) // or its reply was lost
			if kept || held.Owner != c.as.Owner || held.Status == store.StatusCompleted {
				return nil
			}
			seen = life.Unleased(held) // someone found our lease ended; they did not execute
		}
		return errRestless
	})
	return held, kept || tries > 1 && !c.as.Asks, err // an inquiry reports what it has written
}

// keepForLast ends early enough for the last word on a result that could not be stored.
func keepForLast(ctx context.Context) context.Context {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx
	}
	return within(ctx, deadline.Add(-min(lastWordBudget, time.Until(deadline)/4)))
}

// settleEnd bounds a settlement: by the budget that an outage may take, with the time that the
// result takes on its way; by the invocation's deadline, when Lambda kills the process; and by the
// lease, without which someone else may execute. A quarter of the margin is left for clocks that
// differ.
//
// A lease that is too short even for half of the reserve is renewed first. That happens where the
// result is very large, and where a handler has overrun its deadline in a process that still lives.
//
// It is safe for concurrent use. The error is that of such a renewal.
func (c *claim) settleEnd(ctx context.Context, now time.Time, transfer time.Duration) (time.Time, error) {
	budget := c.Timing.ClaimBudget + transfer
	least := min(c.Timing.Reserve, c.Timing.ClaimBudget)/2 + transfer
	end := now.Add(budget)
	if !c.deadline.IsZero() && !end.Before(c.deadline) && c.deadline.Sub(now) >= c.reserve/10 {
		end = answerable(c.deadline, now)
	}
	if !c.heartbeat && end.Before(c.deadline) {
		return end, nil
	}
	held, _ := c.protected.both()
	protected := held.Add(-c.Timing.Margin / 4)
	if !end.After(protected) {
		return end, nil
	}
	if protected.Sub(now) < least {
		return c.extend(ctx, now, budget)
	}
	return protected, nil
}

// extend renews the lease for a settlement, and returns the end of that. If the lease cannot be
// renewed, what is left of it has to do.
func (c *claim) extend(ctx context.Context, now time.Time, budget time.Duration) (time.Time, error) {
	extended := false
	err := retry(withinDetached(ctx, now.Add(c.Timing.ClaimBudget)), func(ctx context.Context) error {
		begun, next := time.Now(), c.renewed(budget+c.Timing.Margin)
		held, swapped, err := c.Store.Swap(ctx, life.Unleased(c.mine), next)
		switch {
		case err != nil:
			return err
		case swapped:
			c.protected.until(begun.Add(budget+c.Timing.Margin), next.Lease)
			extended = true
		case held.Owner == c.as.Owner && held.Status == store.StatusInProgress: // a later lease of ours is there
			extended = true
		}
		return nil
	})
	if !extended {
		return time.Now().Add(min(c.Timing.Reserve, c.Timing.ClaimBudget)), err
	}
	return time.Now().Add(budget), err
}
