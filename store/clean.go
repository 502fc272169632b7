package store

import (
	"context"
	"iter"
	"time"
)

// Cleaner is implemented by what keeps items that expire, for tables that have no time to live: it deletes what a time to live would.
// No delivery cleans.
type Cleaner interface {
	// Table names what is cleaned, for a report and for whoever keeps the cursor: two cleaners of one process have two names.
	Table() string
	// DeleteExpired deletes what expired at c.Before or earlier, and yields once for each page that it has read, after the
	// deletions of that page. It goes on as far as the caller does, and waits as c says.
	//
	// Each deletion is conditional on the expiry that was read, and on no live lease at c.Now: an item that somebody wrote meanwhile
	// stays. An item whose deletion was refused counts as Kept. The last page has no Next.
	//
	// An error ends it; what was yielded before is done. What is yielded beside the error is what was done of a page that did not come to its end:
	// it has no Next, and to go on at the Next of the page before repeats it, which does no harm. Any number of passes may go over one table.
	DeleteExpired(ctx context.Context, c Cleaning) iter.Seq2[Cleaned, error]
}

// Cleaning says what to delete. Its zero value deletes nothing.
type Cleaning struct {
	_ struct{} // literals name their fields: more may come

	// Before is the latest expiry that is deleted, Now is the instant that leases are compared with. Before is not after Now.
	Before, Now time.Time
	// After is the Next of the page to go on behind, empty to begin.
	After string
	// PageSize is how many items one page reads at most; 0 leaves it to the table. A page is yielded after its deletions: of 500 records
	// they take 20 seconds at 25 units a second.
	PageSize int
	// ReadRate and WriteRate are how many units per second are used on average, 0 for no limit. What is left unused is not saved up.
	ReadRate, WriteRate float64
	// DryRun counts and deletes nothing.
	DryRun bool
}

// Cleaned is what became of one page.
type Cleaned struct {
	// Next is where to go on, empty after the last page.
	Next string
	// Read is how many items were read. Deleted is how many were deleted, or would be in a dry run: records, parts of results, or
	// messages. Kept is how many had expired and stay: they changed meanwhile, a lease lives, a record that lives still names the
	// part, or they are not understood. What somebody else has deleted meanwhile is neither.
	Read, Deleted, Kept int
	// ReadUnits and WriteUnits are what this took, 0 where there is no such thing.
	ReadUnits, WriteUnits float64
}
