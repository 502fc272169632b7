package protocol

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// The intervals between two looks at a running execution grow from the first to the last, with
// jitter, which keeps many clients of one key apart.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// leastLook is what a look may take beyond the end of a wait, where none took any time before.
const leastLook = 10 * time.Millisecond

// await looks at the record of a running execution until that has ended, and answers with what came
// of it. Every look goes through package life. A key that has become free, or whose lease has
// ended, is claimed like any other. If the wait ends first, the result is that of the last look, or
// r. The last look begins so early that it has come back when the wait ends, going by the slowest
// call so far.
func (d *Delivery) await(ctx context.Context, r Result, p execution.Patience) (Result, bool) {
	started, wait := time.Now(), d.Wait
	if !p.Until.IsZero() {
		wait = time.Until(p.Until)
	}
	if wait <= 0 {
		return r, false
	}
	defer func() { d.Report.Wait = since(started) }()

	end := budgetEnd(ctx, started, wait)
	slowest := min(d.Report.Claim.Took, wait/2)
	for n, last := 0, false; !last; n++ {
		longest := min(firstLook<<min(n, 10), lastLook)
		pause, left := longest-execution.Jitter(ctx, longest/2), max(time.Until(end)-slowest, 0)
		last = pause >= left
		if !sleep(ctx, min(pause, left)) {
			return r, false
		}
		now, asked := d.Now(), time.Now()
		until := end
		if last { // half of this is until the end
			until = asked.Add(2 * max(end.Sub(asked), leastLook))
		}
		held, err := d.claim.look(ctx, until)
		if err == nil {
			slowest = max(slowest, time.Since(asked))
		} else {
			d.claim.note(err)
			if !store.MayPass(err) {
				return unanswered(err), false
			}
			continue
		}
		switch j := d.claim.as.Meets(held, now); j.Verdict {
		case life.Begin, life.TakeOver, life.Refuse, life.Ours:
			if !d.worthwhile(started, p.Least) {
				return inProgress(held, now), false
			}
			// Also where the record is our own, because a claim that was refused has come to life
			// late: every claim begins with a token and a lease of its own.
			t := d.claim.take(ctx)
			if t.claimed {
				return Result{}, true
			}
			r = d.answer(ctx, &t)
		default:
			r = d.answer(ctx, &taking{Judgement: j, held: held, at: now})
		}
		if r.Outcome != report.InProgress {
			return r, false
		}
	}
	return r, false
}

// worthwhile reports whether enough time is left to execute: what was asked for, or else a quarter
// of what there was when the wait began. With less, the execution would probably be cut off.
func (d *Delivery) worthwhile(started time.Time, least time.Duration) bool {
	deadline := d.claim.deadline
	if least == 0 {
		least = deadline.Sub(started) / 4
	}
	return deadline.IsZero() || time.Until(deadline) >= least
}
