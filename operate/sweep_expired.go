package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// expiredPass is the pass through a table of which is deleted what has expired.
func (w *sweep) expiredPass(c store.Cleaner) sweepPass {
	w.swept.Expired = append(w.swept.Expired, SweptTable{Table: c.Table()})
	n := len(w.swept.Expired) - 1
	t := &w.swept.Expired[n]
	// A page is yielded after its deletions, and nothing shows a sign of life before.
	size := min(w.config.PageSize, int(max(minSweepPage, min(maxSweepPage, sweepPageTime.Seconds()*w.config.WriteRate))))
	all := w.swept.Done
	w.swept.Done = false
	return sweepPass{
		of: "expired\x00" + c.Table(), settings: w.config.ExpiredGrace.String(), lease: w.leaseOf(float64(size) * partOfUnits),
		from: func(after string) { t.From = after },
		busy: func(until time.Time) { t.BusyUntil = until },
		done: func() { t.Done, w.swept.Done = true, all },
		pages: func(ctx context.Context, after string, cur *cursor) error {
			return w.delete(ctx, c, t, size, after, cur)
		},
	}
}

// partOfUnits is what a deletion takes where an item is large, on the average of a page.
const partOfUnits = 8

// delete deletes what has expired behind a page. A lease is over only for those who look well after it, as everywhere in a sweep.
func (w *sweep) delete(ctx context.Context, c store.Cleaner, t *SweptTable, size int, after string, cur *cursor) error {
	now := w.config.Clock()
	cleaning := store.Cleaning{
		Before: now.Add(-w.config.ExpiredGrace), Now: now.Add(-w.config.Grace), After: after, PageSize: size,
		ReadRate: limit(w.config.Rate), WriteRate: limit(w.config.WriteRate), DryRun: w.config.DryRun,
	}
	for page, err := range c.DeleteExpired(ctx, cleaning) {
		t.Read, t.Deleted, t.Kept = t.Read+page.Read, t.Deleted+page.Deleted, t.Kept+page.Kept
		t.ReadUnits, t.WriteUnits = t.ReadUnits+page.ReadUnits, t.WriteUnits+page.WriteUnits
		if err != nil {
			if ended := context.Cause(ctx); ended != nil {
				return ended
			}
			return fmt.Errorf("operate: sweep: delete what has expired of %q: %w", c.Table(), err)
		}
		t.Pages++
		if page.Next != "" {
			if err := cur.advance(ctx, page.Next); err != nil {
				return err
			}
		}
		w.told(ctx)
	}
	return nil
}
