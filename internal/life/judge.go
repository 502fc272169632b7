package life

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/store"
)

// State is what a record means at an instant, whoever looks at it.
type State string

// The states.
const (
	Free      State = "free"      // there is no record, or it has expired: the key is as good as new
	Running   State = "running"   // an execution holds the record, or somebody asks: its lease lives
	Crashed   State = "crashed"   // the lease has ended, and nobody said how
	Reopened  State = "reopened"  // the record was UNKNOWN, and who took it to settle it has crashed
	Released  State = "released"  // nobody holds the record, and the next request executes
	Unknown   State = "unknown"   // it may have had its effect: somebody has to settle the record
	Completed State = "completed" // the record has a result, or a stored error
	Other     State = "other"     // the record has a status that this version does not know
)

// Of returns the state of a record at an instant. The zero record stands for none: it has expired.
func Of(r store.Record, now time.Time) State {
	switch {
	case r.Claimable(now):
		return Free
	case r.Status == store.StatusCompleted:
		return Completed
	case r.Status == store.StatusUnknown:
		return Unknown
	case r.Status != store.StatusInProgress:
		return Other
	case !r.Unheld(now):
		return Running
	case r.Released():
		return Released
	case r.Reason != "":
		return Reopened
	default:
		return Crashed
	}
}

// Waits reports whether somebody has to settle the record now. Its attention only says that its
// handler does not simply execute again after a crash, and since when. Status, reason, lease and
// steps decide.
func Waits(r store.Record, now time.Time) bool {
	due := r.Attention != "" && store.Reached(r.AttentionAt, now)
	switch Of(r, now) {
	case Unknown:
		return true
	case Crashed, Reopened:
		return due
	case Released:
		return due && len(r.Steps) > 0
	default:
		return false
	}
}

// WaitsLater reports whether nobody has to settle the record yet: it was released with steps, and
// its client is expected to retry.
func WaitsLater(r store.Record, now time.Time) bool {
	return Of(r, now) == Released && len(r.Steps) > 0 && !Waits(r, now)
}

// MayRun reports whether an entry of the index can be that of an execution that runs: its attention
// is not due yet. The record itself need not be read.
func MayRun(entry store.Record, now time.Time) bool {
	return entry.Status == store.StatusInProgress && entry.Reason == "" && !store.Reached(entry.AttentionAt, now)
}

// Landed reports whether a record that refused a write is what the write makes of it: it was
// applied, and its reply was lost.
func Landed(held, next store.Record) bool {
	return held.Status == next.Status && held.Owner == next.Owner && held.AttentionAt.Equal(next.AttentionAt)
}

// Claimant is who meets a record: a delivery with its request, or a reconciliation.
type Claimant struct {
	Policy

	// Key and Fingerprint are those of its request, Trace the trace context of its execution. A
	// reconciliation has no fingerprint, and leaves the trace of the record.
	Key, Fingerprint, Trace string
	// Owner is the token of its claim, and Lease the end of the lease that it takes.
	Owner string
	Lease time.Time
	// Callers are the owners of the claims of the handlers that call this one.
	Callers []string
	// Marks are the steps that its execution marks before they begin, and Derived the names of the
	// derived keys that it may hand out, as far as they are known before: in ascending order.
	Marks, Derived []string
	// OnlyDue leaves alone what a reconciliation is not to ask about yet, or any more.
	OnlyDue bool
}

// Verdict is what a record means for who meets it.
type Verdict int

// The verdicts.
const (
	Begin      Verdict = iota // claim Next, as if nobody held the key
	TakeOver                  // swap Seen for Next, which is the claim
	Refuse                    // swap Seen for Next, which is UNKNOWN: nobody executes
	Look                      // nothing is known yet: a reconciliation begins with it
	Ours                      // the record is our claim, whose reply was lost
	Twice                     // an execution runs, and it is the one that calls
	Replay                    // the record has the result
	Busy                      // an execution runs, or somebody asks
	Uncertain                 // the record is UNKNOWN, because of Reason
	Mismatch                  // the record stands for another request
	Unreadable                // the record cannot be understood, because of Reason
	Closed                    // a reconciliation has nothing to ask
)

// Judgement is what a record means for who meets it, and what is written if anything is.
type Judgement struct {
	Verdict
	// Seen and Next are the arguments of a Swap; Begin has only Next.
	Seen, Next store.Record
	// Before is what a TakeOver replaces.
	Before Before
	Reason string
}

// Before is what a claim has taken over. The zero value is a first claim.
type Before struct {
	// Reason is why the record needs a resolver, or that it was released.
	Reason string
	// Open says that the record is UNKNOWN as long as nobody has settled it or executes again.
	Open bool
	// These are those of the record. Trace is the trace context of the execution that had it.
	Attention   string
	AttentionAt time.Time
	Derived     []string
	Unseen      Unseen
	Trace       string
}

// Meets says what a held record means for who meets it. The zero record says that there is none.
func (c Claimant) Meets(held store.Record, now time.Time) Judgement {
	if c.Asks {
		return c.inquires(held, now)
	}
	state := Of(held, now)
	if held.Status == store.StatusInProgress && slices.Contains(c.Callers, held.Owner) {
		return Judgement{Verdict: Twice} // whatever the clock says: it waits for us
	}
	if state == Free {
		first := store.Record{Key: c.Key, Fingerprint: c.Fingerprint, CreatedAt: now.Truncate(time.Millisecond)}
		return Judgement{Verdict: Begin, Next: c.claimed(first, now)}
	}
	if held.Owner == c.Owner && held.Status == store.StatusInProgress {
		return Judgement{Verdict: Ours}
	}
	if j, differs := c.differs(held); differs {
		return j
	}
	switch {
	case state == Completed:
		return Judgement{Verdict: Replay}
	case state == Running:
		return Judgement{Verdict: Busy}
	case state == Other:
		return unreadable(reasonStatus)
	case state == Released, c.Resolves, state == Crashed && !c.RefuseCrashed:
		return c.takeOver(held, now)
	case state == Unknown:
		return Judgement{Verdict: Uncertain, Reason: held.Reason}
	case state == Crashed && c.TellsAll(held): // if nothing is written meanwhile
		j := c.takeOver(held, now)
		j.Seen.StepWrites = held.StepWrites
		return j
	default: // it has crashed, or who took it to settle it has
		return c.refuse(held, now)
	}
}

// inquires is Meets for a reconciliation. It takes what somebody has to settle, and never a key
// that nobody holds.
func (c Claimant) inquires(held store.Record, now time.Time) Judgement {
	state := Of(held, now)
	notDue := c.OnlyDue && (held.GivenUp() || held.AttentionAt.After(now))
	switch {
	case state == Free:
		return Judgement{Verdict: Closed}
	case held.Owner == c.Owner && held.Status == store.StatusInProgress:
		return Judgement{Verdict: Ours}
	case state == Running:
		return Judgement{Verdict: Busy}
	case state == Other && !notDue:
		return unreadable(reasonStatus)
	case notDue, state == Completed,
		state == Released && len(held.Steps) == 0, // the next request executes
		state == Crashed && (!c.RefuseCrashed && held.Attention == "" || c.TellsAll(held)):
		return Judgement{Verdict: Closed}
	default:
		return c.takeOpen(held, now)
	}
}

// refuse makes UNKNOWN what crashed. What was UNKNOWN before is as it was.
func (c Claimant) refuse(held store.Record, now time.Time) Judgement {
	next := c.Unknown(counted(held), cmp.Or(held.Reason, store.ReasonCrashed), now)
	if held.Reason == "" {
		next.Story = told(next.Story, now, BecameUnknown, next.Reason)
	} else {
		next.Attention = cmp.Or(held.Attention, next.Attention) // it may be given up
		next.Expiry = later(next.Expiry, held.Expiry)
	}
	return Judgement{Verdict: Refuse, Seen: held, Next: next}
}

// takeOver claims what nobody holds.
func (c Claimant) takeOver(held store.Record, now time.Time) Judgement {
	state, ours := Of(held, now), counted(held)
	before := Before{
		Open: state == Unknown || state == Reopened, Attention: held.Attention, AttentionAt: held.AttentionAt,
		Derived: held.Derived, Unseen: unseenOf(ours), Trace: held.Trace, Reason: held.Reason,
	}
	switch state { //nolint:exhaustive // the others say why
	case Crashed:
		before.Reason = store.ReasonCrashed
	case Released:
		before.Reason = store.ReasonReleased
	}
	next := c.claimed(ours, now)
	if state == Crashed && !c.Asks {
		next.Story = told(next.Story, now, TakenOver, "")
	}
	if before.Open {
		next.Reason = held.Reason // should we crash, the outcome is as unknown as it was
	}
	if before.Open || c.Asks { // and due when our lease has ended
		next.Attention, next.AttentionAt = cmp.Or(held.Attention, store.AttentionOf(held.Key)), next.Lease
		next.Expiry = later(next.Expiry, held.Expiry) // who settles it gets the time that there was
	} else {
		next.Tries = 0
	}
	held.StepWrites = store.AnyStepWrites
	return Judgement{Verdict: TakeOver, Seen: held, Next: next, Before: before}
}

// takeOpen takes over a record for a question.
func (c Claimant) takeOpen(held store.Record, now time.Time) Judgement {
	j := c.takeOver(held, now)
	if held.Reason == "" { // a step that is recorded meanwhile may tell all that it did
		j.Seen.StepWrites = held.StepWrites
	}
	if held.Released() {
		j.Next.Reason = store.ReasonAsked
	}
	j.Next.Derived = held.Derived
	return j
}

// Same reports whether a record stands for the request of the claimant. A handler without
// fingerprints takes any record of the key.
func (c Claimant) Same(held store.Record) bool {
	_, differs := c.differs(held)
	return !differs
}

func (c Claimant) differs(held store.Record) (Judgement, bool) {
	switch {
	case c.Fingerprint == "" || held.Fingerprint == c.Fingerprint:
		return Judgement{}, false
	case held.Fingerprint == "":
		return unreadable("it has no fingerprint: another program wrote it, or a handler that had none"), true
	}
	theirs, _ := fingerprint.VersionOf(held.Fingerprint)
	if ours, _ := fingerprint.VersionOf(c.Fingerprint); theirs != ours {
		return unreadable("its fingerprint has an algorithm version that this handler does not compute"), true
	}
	return Judgement{Verdict: Mismatch}, true
}

const reasonStatus = "its status is none of INPROGRESS, COMPLETED, UNKNOWN"

func unreadable(reason string) Judgement { return Judgement{Verdict: Unreadable, Reason: reason} }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
