package life

import (
	"cmp"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Policy is what a handler has decided about its records.
type Policy struct {
	// RefuseCrashed makes a crashed execution UNKNOWN, instead of executing again: somebody has to
	// know of it. Then each step is marked before it begins.
	RefuseCrashed bool
	// Resolves says that there is a resolver, which is asked about executions that crashed, and
	// about UNKNOWN records. It is set only with RefuseCrashed.
	Resolves bool
	// Asks says that a reconciliation claims: it asks about a record, and executes nothing.
	Asks bool
	// Layout is the form in which results are stored.
	Layout store.Layout
	// Retention is how long a completed record is replayed, UnknownRetention how long an UNKNOWN
	// one is kept for its settlement.
	Retention, UnknownRetention time.Duration
}

// TellsAll reports whether the steps of a record tell all that its executions did. Where each step
// is marked, one that ran without a mark is no proof.
func (p Policy) TellsAll(r store.Record) bool {
	return r.Resumable() && (!p.RefuseCrashed || !unseenOf(r).Some())
}

// expiryInProgress keeps a crashed record for its settlement where somebody has to settle it, and
// never ends before the lease: DynamoDB's TTL must not delete what still protects an execution.
func (p Policy) expiryInProgress(lease, now time.Time) time.Time {
	keep := p.Retention
	if p.RefuseCrashed || p.Asks {
		keep = p.UnknownRetention
	}
	return expiryAt(later(now.Add(keep), lease))
}

// LeaseEnd rounds a lease up to what stores keep, which is milliseconds.
func LeaseEnd(t time.Time) time.Time { return t.Add(time.Millisecond - 1).Truncate(time.Millisecond) }

// expiryAt rounds an expiry up to what stores keep, which is seconds.
func expiryAt(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

// claimed is r as it is claimed. What it does not name survives a takeover, also who settled the
// record before.
//
// Where somebody has to know of a crash, the record carries attention that is due when its lease
// ends: should this process die, the index has the record. A renewal does not move it, because who
// reads the index reads the record, too. A process that dies tells no names, so the record has
// those that its execution may hand out, beside those of executions before.
func (c Claimant) claimed(r store.Record, now time.Time) store.Record {
	derived := r.Derived
	r = unattended(r)
	r.Status, r.Owner, r.Reason, r.Lease = store.StatusInProgress, c.Owner, "", c.Lease
	r.Layout = c.Layout
	if c.Asks {
		r.Questions++
	} else {
		r.Trace = c.Trace
	}
	r.Expiry = c.expiryInProgress(c.Lease, now)
	r.Attempt++
	if !c.Asks && !c.RefuseCrashed {
		// should it die, it may have begun any step but those that it marks
		r.Unmarked, r.StepNames = true, slices.DeleteFunc(slices.Clone(c.Marks), unseenOf(r).May)
	}
	r.Steps = nil // those of the record stay
	if c.RefuseCrashed {
		names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(derived, c.Derived))))
		r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(r.Key), c.Lease, names[:min(len(names), maxDerived)]
	}
	return r
}

// counted is a record as we write it on. One of AWS Powertools counts no execution, but there was
// one, which may have begun any step.
func counted(r store.Record) store.Record {
	if r.Attempt == 0 {
		r.Attempt, r.Unmarked, r.StepNames = 1, true, nil
	}
	return r
}

// maxDerived is how many names of derived keys a record keeps, the first ones in ascending order.
const maxDerived = 20

// Renewed is the record of a claim with another lease.
func (p Policy) Renewed(mine store.Record, lease, now time.Time) store.Record {
	mine.Lease = LeaseEnd(lease)
	mine.Expiry = later(mine.Expiry, p.expiryInProgress(mine.Lease, now))
	return mine
}

// Completed is the record of a claim with the result.
func (p Policy) Completed(mine store.Record, reason string, result []byte, now time.Time) store.Record {
	r := completed(unattended(mine), reason, result, now)
	if p.Asks {
		r.Story = told(r.Story, now, Settled, "executed"+byReconciliation)
	}
	r.Expiry = expiryAt(now.Add(p.Retention))
	r.Lease = time.Time{}
	return r
}

// completed is r with a result. The reason tells a stored error from a stored value.
func completed(r store.Record, reason string, result []byte, now time.Time) store.Record {
	r.Status, r.Reason, r.CompletedAt = store.StatusCompleted, reason, now.Truncate(time.Millisecond)
	r.Result, r.Parts, r.Seal = result, "", store.Seal(r.Owner, result)
	r.Unmarked, r.StepNames, r.Tries = false, nil, 0
	return r
}

// CompletedBy reports whether the claim with this token has completed a record.
func CompletedBy(held store.Record, owner string) bool {
	return strings.HasPrefix(held.Seal, owner+".")
}

// Unknown is r as UNKNOWN, for somebody to settle. The owner stays: it may still bring the result.
func (p Policy) Unknown(r store.Record, reason string, now time.Time) store.Record {
	r.Status, r.Reason = store.StatusUnknown, reason
	r.Steps = nil // those of the record stay
	r.Attention, r.AttentionAt = store.AttentionOf(r.Key), now.Truncate(time.Millisecond)
	r.Expiry = expiryAt(now.Add(p.UnknownRetention))
	return r
}

// Ended is how an execution came to its end.
type Ended struct {
	// Reason is why nobody knows its outcome.
	Reason string
	// Failure is the type of its error, or of the error of the resolver, empty if there was none.
	Failure string
	// Derived are the names of the derived keys that it handed out.
	Derived []string
}

// EndsUnknown is the record of a claim as its owner makes it UNKNOWN. One that was UNKNOWN before
// waits as long as it did.
func (p Policy) EndsUnknown(mine store.Record, before Before, e Ended, now time.Time) store.Record {
	r := p.Unknown(mine, e.Reason, now)
	r.Lease, r.Derived = time.Time{}, e.Derived
	if !before.Open {
		r.Tries, r.Story = 0, told(r.Story, now, BecameUnknown, e.Reason+" "+e.Failure)
		return r
	}
	r.Story = told(r.Story, now, Asked, e.Failure)
	if !before.AttentionAt.IsZero() {
		r.Attention, r.AttentionAt = before.Attention, before.AttentionAt
	}
	return r
}

// Stepped is the record of a claim, as it was seen, with a step. Its expiry is raised for whoever
// resumes. It says the lease that the expiry covers: a copy that comes after a renewal is refused,
// and cannot make the record expire under its lease.
func (p Policy) Stepped(seen store.Record, lease time.Time, name string, step store.Step, now time.Time) store.Record {
	r := seen
	if r.Status == store.StatusUnknown {
		r.Expiry = expiryAt(now.Add(p.UnknownRetention))
	} else {
		r.Lease, r.Expiry = lease, p.expiryInProgress(lease, now)
	}
	// made UNKNOWN, and settled as not executed
	step.Until = r.Expiry.Add(p.UnknownRetention + max(p.UnknownRetention, p.Retention))
	r.Steps = map[string]store.Step{name: step}
	return r
}

// Left is what an execution leaves to the next one.
type Left struct {
	// Steps are the changes of those in the record, and Keeps says that it has some after that.
	Steps map[string]store.Step
	Keeps bool
	// Unseen says which steps may have begun that the record does not have.
	Unseen Unseen
	// Derived are the names of the derived keys that were handed out.
	Derived []string
	// Failure is the type of the error that the execution has failed with, empty if it has not.
	Failure string
}

// Released is the record of a claim as nobody's, for the next delivery to resume. Its token is one
// of nobody, so that nothing which is still on its way from us can match. Somebody has to finish
// what has stopped between two steps, if no request does.
func (p Policy) Released(mine store.Record, left Left, now time.Time) store.Record {
	r := p.released(mine, left, now)
	if p.Asks {
		r.Story = told(r.Story, now, Settled, "not executed"+byReconciliation)
	} else {
		r.Story = told(r.Story, now, Failed, left.Failure)
	}
	return r
}

func (p Policy) released(mine store.Record, left Left, now time.Time) store.Record {
	r := unattended(mine)
	r.Owner, r.Reason, r.Lease, r.Tries = rand.Text(), store.ReasonReleased, now.Truncate(time.Millisecond), 0
	r.Steps = left.Steps
	r.Unmarked, r.StepNames = left.Unseen.Any, left.Unseen.Names
	r.Expiry = p.expiryInProgress(r.Lease, now)
	if left.Keeps {
		r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(r.Key), r.Lease.Add(store.ReleasedWait), left.Derived
	}
	return r
}

// PutBack is a record that was asked about so often, without an answer, as it was found, and
// nobody's.
func (p Policy) PutBack(mine store.Record, before Before, tries int, e Ended, now time.Time) store.Record {
	if before.Reason == store.ReasonReleased {
		r := p.released(mine, Left{Keeps: true, Unseen: unseenOf(mine), Derived: e.Derived}, now)
		r.Tries, r.Story = tries, told(r.Story, now, Asked, e.Failure)
		return r
	}
	r := p.Unknown(mine, cmp.Or(before.Reason, store.ReasonCrashed), now)
	r.Owner = rand.Text() // of nobody: somebody may have made the record UNKNOWN under ours, because our lease was over
	r.Lease, r.Derived, r.Tries = time.Time{}, e.Derived, tries
	if !before.Open {
		r.Story = told(r.Story, now, BecameUnknown, r.Reason)
	}
	r.Story = told(r.Story, now, Asked, e.Failure)
	return r
}

// GaveUp is a record that no reconciliation asks about any more.
func GaveUp(r store.Record, now time.Time) store.Record {
	r.Attention, r.AttentionAt = store.GivenUpOf(r.Key), now.Truncate(time.Millisecond)
	r.Story = told(r.Story, now, GivenUp, "")
	return r
}

// TakenBack is what was seen, restored after a takeover that may have been applied: a crash stays a
// crash. Its lease has ended and it has a token of nobody: nothing that its owner or we have sent,
// and that is still on its way, can match.
func TakenBack(seen store.Record, now time.Time) store.Record {
	seen.Owner, seen.Lease = rand.Text(), now.Truncate(time.Millisecond)
	seen.Steps = nil // those of the record stay
	return seen
}

// Unleased is a record of our own as Swap and Delete are to compare it: by its token, and not by
// its lease, which a renewal whose reply was lost may have moved. Its expiry is always written
// anew.
func Unleased(mine store.Record) store.Record {
	mine.Lease, mine.Expiry, mine.StepWrites = time.Time{}, time.Time{}, store.AnyStepWrites
	return mine
}

// MayComplete reports whether an execution that has lost its record may complete it in the place of
// who took it: that one has crashed, too, and stands for the same request. The verdict of an
// operator is final, but for who claimed the record after it.
func (c Claimant) MayComplete(held, mine store.Record, now time.Time) bool {
	overruled := held.SettledBy != "" && (held.Released() || !held.SettledAt.Equal(mine.SettledAt))
	return !c.Asks && c.Same(held) && held.Status == store.StatusInProgress && held.Unheld(now) && !overruled
}

// unattended is r without the marks of a record that somebody has to settle.
func unattended(r store.Record) store.Record {
	r.Attention, r.AttentionAt, r.Derived = "", time.Time{}, nil
	return r
}

// Unseen says which steps may have begun without a start mark, of those that the record does not
// have: only Names, or, with Any, each one except Names. These are in ascending order, and nobody
// changes them. The zero value is none.
type Unseen struct {
	Any   bool
	Names []string
}

// unseenOf is what a record says.
func unseenOf(r store.Record) Unseen { return Unseen{Any: r.Unmarked, Names: r.StepNames} }

// Some reports whether any step may have begun unseen.
func (u Unseen) Some() bool { return u.Any || len(u.Names) > 0 }

// May reports whether the step may have begun unseen.
func (u Unseen) May(name string) bool { return u.Any != slices.Contains(u.Names, name) }

// With also says of one step whether it may have begun unseen.
func (u Unseen) With(name string, may bool) Unseen {
	if u.May(name) == may {
		return u
	}
	names := slices.Clone(u.Names)
	if i, listed := slices.BinarySearch(names, name); listed {
		names = slices.Delete(names, i, i+1)
	} else {
		names = slices.Insert(names, i, name)
	}
	if len(names) == 0 {
		names = nil
	}
	return Unseen{Any: u.Any, Names: names}
}
