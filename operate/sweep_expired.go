package operate

import (
	"context"
	"fmt"

	"github.com/go-idempotent/idempotent/store"
)

// deletedAtOnce is how many items a page of a deletion has: it is yielded after its deletions, and nothing shows a sign of life before.
func (w *sweep) deletedAtOnce() int {
	return min(w.config.PageSize, int(max(minSweepPage, min(maxSweepPage, sweepPageTime.Seconds()*w.config.WriteRate))))
}

// partOfUnits is what a deletion takes where an item is large, on the average of a page.
const partOfUnits = 8

// delete deletes what has expired. A lease is over only for those who look well after it, as everywhere in a sweep.
func (w *sweep) delete(ctx context.Context, c store.Cleaner, t *SweptTable, cur *cursor) error {
	now := w.config.Clock()
	cleaning := store.Cleaning{
		Before: now.Add(-w.config.ExpiredGrace), Now: now.Add(-w.config.Grace), After: t.From, PageSize: w.deletedAtOnce(),
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
