package protocol

import (
	"crypto/rand"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// fresh is the record of a first claim.
func (d *Delivery) fresh() store.Record {
	now := d.Now()
	d.seenUnmarked = false
	return d.claimed(store.Record{
		Key:         d.RecordKey,
		Fingerprint: d.Fingerprint,
		CreatedAt:   now.Truncate(time.Millisecond),
	})
}

// claimed is r as this delivery claims it. What it does not name survives a takeover, also who settled the record before.
func (d *Delivery) claimed(r store.Record) store.Record {
	r.Status, r.Owner, r.Reason = store.StatusInProgress, d.owner, ""
	r.Lease = d.lease
	r.Layout = d.Layout
	r.Expiry = d.expiryInProgress(r.Lease)
	r.Attempt++
	r.Unmarked = r.Unmarked || d.inquiry == nil && !d.RefuseCrashed
	r.Steps = nil // those of the record stay
	return unattended(r)
}

// renewed is our record with a lease from now.
func (d *Delivery) renewed(lease time.Duration) store.Record {
	r := d.mine
	r.Lease = leaseEnd(d.Now().Add(lease))
	if e := d.expiryInProgress(r.Lease); d.inquiry == nil || e.After(r.Expiry) {
		r.Expiry = e
	}
	return r
}

// completed is our record with the result. The reason tells a stored error from a stored value.
func (d *Delivery) completed(reason string, result []byte) store.Record {
	r := unattended(d.mine)
	r.Status, r.Reason, r.Result, r.Tries, r.Unmarked = store.StatusCompleted, reason, result, 0, false
	r.Seal = store.Seal(d.owner, result)
	r.CompletedAt = d.Now().Truncate(time.Millisecond)
	r.Expiry = expiryAt(d.Now().Add(d.Retention), time.Time{})
	r.Lease = time.Time{}
	return r
}

// unknown is r as UNKNOWN, for somebody to settle. The owner stays: it may still bring the result.
func (d *Delivery) unknown(r store.Record, reason string, now time.Time) store.Record {
	r.Status, r.Reason = store.StatusUnknown, reason
	r.Steps = nil // those of the record stay
	r.Attention, r.AttentionAt = store.AttentionOf(r.Key), now.Truncate(time.Millisecond)
	r.Expiry = expiryAt(now.Add(d.Timing.UnknownRetention), time.Time{})
	return r
}

// unattended is r without the marks of a record that somebody has to settle.
func unattended(r store.Record) store.Record {
	r.Attention, r.AttentionAt, r.Derived = "", time.Time{}, nil
	return r
}

// takenBack is what was seen, restored after a takeover that may have been applied: a crash stays a crash. Its lease has
// ended and it has a token of nobody, so that nothing which its owner or we have sent, and which is still on its way, can match.
func (d *Delivery) takenBack(seen store.Record) store.Record {
	seen.Owner, seen.Lease = rand.Text(), d.Now().Truncate(time.Millisecond)
	seen.Steps = nil // those of the record stay
	return seen
}

// unleased is a record of our own as Swap and Delete are to compare it: by its token, not by its lease, which a renewal
// whose reply was lost may have moved; and with an expiry that is always written anew.
func unleased(mine store.Record) store.Record {
	mine.Lease, mine.Expiry, mine.StepWrites = time.Time{}, time.Time{}, store.AnyStepWrites
	return mine
}

// stepped is our record, as it was seen, with a step. Its expiry is raised, so that who resumes finds what is recorded. It says the
// lease that the expiry covers: a copy that comes after a renewal is refused, and cannot make the record expire under its lease.
func (d *Delivery) stepped(seen store.Record, lease time.Time, name string, step store.Step) store.Record {
	r := seen
	if r.Status == store.StatusUnknown {
		r.Expiry = expiryAt(d.Now().Add(d.Timing.UnknownRetention), time.Time{})
	} else {
		r.Lease, r.Expiry = lease, d.expiryInProgress(lease)
	}
	step.Until = r.Expiry.Add(d.Timing.UnknownRetention + max(d.Timing.UnknownRetention, d.Retention)) // made UNKNOWN, and settled as not executed
	r.Steps = map[string]store.Step{name: step}
	return r
}

// released is our record as nobody's, with the steps that it has, for the next delivery to resume. Its token is one of nobody, so
// that nothing which is still on its way from us can match.
func (d *Delivery) released() store.Record {
	now := d.Now().Truncate(time.Millisecond)
	r := d.mine
	r.Owner, r.Reason, r.Lease, r.Tries = rand.Text(), store.ReasonReleased, now, 0
	r.Steps, r.Unmarked = d.ended.removed(), d.ended.mayHaveMore()
	r.Expiry = d.expiryInProgress(now)
	r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(r.Key), now.Add(store.ReleasedWait), d.handed.Sorted()
	return r
}

// expiryInProgress keeps a crashed record for its settlement where the policy wants one.
func (d *Delivery) expiryInProgress(lease time.Time) time.Time {
	keep := d.Retention
	if d.RefuseCrashed || d.inquiry != nil {
		keep = d.Timing.UnknownRetention
	}
	return expiryAt(d.Now().Add(keep), lease)
}

// leaseEnd rounds a lease up to what stores keep.
func leaseEnd(t time.Time) time.Time { return store.RoundUp(t, time.Millisecond) }

// expiryAt rounds an expiry up to what stores keep, and never lets it come before the end of the lease: DynamoDB's TTL
// must not delete a record that still protects an execution.
func expiryAt(t, lease time.Time) time.Time {
	if t.Before(lease) {
		t = lease
	}
	return store.RoundUp(t, time.Second)
}
