package life

import (
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Policy is what a handler has decided about its records.
type Policy struct {
	// RefuseCrashed makes a crashed execution UNKNOWN, instead of executing again. Then each step
	// is marked before it begins.
	RefuseCrashed bool
	// Resolves says that there is a resolver: it is asked about executions that crashed, and about
	// UNKNOWN records.
	Resolves bool
	// Asks says that the claims are those of a reconciliation: it asks about a record, and executes
	// nothing.
	Asks bool
	// Layout is the form in which results are stored.
	Layout store.Layout
	// Retention is how long a completed record is replayed, UnknownRetention how long an UNKNOWN
	// one is kept for its settlement.
	Retention, UnknownRetention time.Duration
}

// watches reports whether somebody has to know of a crash: the next request does not simply execute
// again.
func (p Policy) watches() bool { return p.RefuseCrashed || p.Resolves }

// TellsAll reports whether the steps of a record tell all that its executions did. Where each step
// is marked, one that ran without a mark is no proof.
func (p Policy) TellsAll(r store.Record) bool {
	return r.Resumable() && (!p.RefuseCrashed || !unseenOf(r).Some())
}

// expiryInProgress keeps a crashed record for its settlement where somebody has to settle it.
func (p Policy) expiryInProgress(lease, now time.Time) time.Time {
	keep := p.Retention
	if p.watches() || p.Asks {
		keep = p.UnknownRetention
	}
	return expiryAt(now.Add(keep), lease)
}

// LeaseEnd rounds a lease up to what stores keep.
func LeaseEnd(t time.Time) time.Time { return store.RoundUp(t, time.Millisecond) }

// expiryAt rounds an expiry up to what stores keep, and never lets it come before the end of the
// lease: DynamoDB's TTL must not delete a record that still protects an execution.
func expiryAt(t, lease time.Time) time.Time {
	if t.Before(lease) {
		t = lease
	}
	return store.RoundUp(t, time.Second)
}

// instant is an instant as stores keep it.
func instant(now time.Time) time.Time { return now.Truncate(time.Millisecond) }
