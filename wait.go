package idempotent

import (
	"context"
	"math/rand/v2"
	"time"
)

// The intervals between two looks at a running execution grow from the first to the last, with jitter.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// await looks at the record of a running execution until that has ended, and answers with what came of it. Every look
// goes through judge. A key that has become free, or whose lease lapsed, is claimed like any other. If the wait ends
// first, the answer is that of the last look.
func (v *invocation) await(ctx context.Context, a answer) (answer, bool) {
	started := time.Now()
	defer func() { v.event.Wait = time.Since(started) }()

	looks, cancel := context.WithDeadline(ctx, budgetEnd(ctx, v.wait+v.timing.ClaimBudget))
	defer cancel()
	end := started.Add(v.wait)
	if deadline, ok := looks.Deadline(); ok && end.After(deadline) {
		end = answerable(deadline, started) // the last look has to come back
	}
	for n := 0; ; n++ {
		left := time.Until(end)
		if left <= 0 || !sleep(looks, min(interval(n), left)) {
			return a, false
		}
		// Each look has a token of its own: a claim of ours that was refused, and comes to life late, must not run the
		// handler under a lease that is half over.
		v.begin(ctx)
		now := v.now()
		held, err := v.look(looks)
		if err != nil {
			v.event.StoreErr = err
			if !mayPass(err) {
				return v.failed(err), false
			}
			continue
		}
		d := v.judge(looks, held, now)
		switch {
		case d.move == nil:
			a = d.answer
		case !v.worthwhile(started):
			return v.inProgress(held, now), false
		default:
			var claimed bool
			if a, claimed = v.claim(ctx); claimed {
				return a, true
			}
		}
		if a.outcome != OutcomeInProgress {
			return a, false
		}
	}
}

// interval is how long the wait for look n is, counted from 0.
func interval(n int) time.Duration {
	longest := min(firstLook<<min(n, 10), lastLook)
	return longest - time.Duration(rand.Int64N(int64(longest/2))) //nolint:gosec // jitter, not a secret
}

// look reads the record within half of the time that is left, so that a reply that never comes leaves room for another.
func (v *invocation) look(ctx context.Context) (Record, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	held, _, err := v.store.Get(ctx, v.recordKey)
	return held, err
}

// worthwhile reports whether enough time is left to execute: a quarter of what there was when the wait began. To begin
// at the last moment would make a crash of what the next delivery does well.
func (v *invocation) worthwhile(started time.Time) bool {
	return v.deadline.IsZero() || time.Until(v.deadline) >= v.deadline.Sub(started)/4
}
