package protocol

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// The intervals between two looks at a running execution grow from the first to the last, with jitter.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// await looks at the record of a running execution until that has ended, and answers with what came of it. Every look
// goes through package life. A key that has become free, or whose lease lapsed, is claimed like any other. If the wait ends
// first, the result is that of the last look; r is the one before the first.
func (d *Delivery) await(ctx context.Context, r Result) (Result, bool) {
	started := time.Now()
	defer func() { d.Report.Wait = since(started) }()

	looks := within(ctx, budgetEnd(ctx, d.Wait+d.Timing.ClaimBudget))
	end := started.Add(d.Wait)
	if deadline, ok := looks.Deadline(); ok && end.After(deadline) {
		end = answerable(deadline, started) // the last look has to come back
	}
	for n := 0; ; n++ {
		left := time.Until(end)
		if left <= 0 || !sleep(looks, min(interval(n), left)) {
			return r, false
		}
		now := d.Now()
		held, err := d.claim.look(looks)
		if err != nil {
			d.claim.note(err)
			if !store.MayPass(err) {
				return unanswered(err), false
			}
			continue
		}
		switch j := d.claim.judge(held, now); j.Verdict {
		case life.Begin, life.TakeOver, life.Refuse, life.Ours:
			if !d.worthwhile(started) {
				return inProgress(held, now), false
			}
			// Also where the record is our own, because a claim that was refused has come to life late: every claim begins with a
			// token and a lease of its own.
			var claimed bool
			if r, claimed = d.take(ctx); claimed {
				return r, true
			}
		default:
			r = d.answer(looks, taking{Judgement: j, held: held, at: now})
		}
		if r.Outcome != report.InProgress {
			return r, false
		}
	}
}

// interval is how long the wait for look n is, counted from 0.
func interval(n int) time.Duration {
	longest := min(firstLook<<min(n, 10), lastLook)
	return longest - time.Duration(rand.Int64N(int64(longest/2))) //nolint:gosec // jitter, not a secret
}

// worthwhile reports whether enough time is left to execute: a quarter of what there was when the wait began. With less,
// the execution would probably be cut off, while the next delivery has all of its time for it.
func (d *Delivery) worthwhile(started time.Time) bool {
	return d.claim.deadline.IsZero() || time.Until(d.claim.deadline) >= d.claim.deadline.Sub(started)/4
}
