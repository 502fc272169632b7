package store

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"strings"
	"time"
)

// Status is the state of a [Record], as stored.
type Status string

// The states of a record. The first two are those of AWS Powertools; the third is native to this
// module.
const (
	// StatusInProgress is the state of a claimed record: an execution runs, or did until its
	// process died.
	StatusInProgress Status = "INPROGRESS"
	// StatusCompleted is the state of a record that holds a result to replay.
	StatusCompleted Status = "COMPLETED"
	// StatusUnknown is the state of a record whose execution may have had its effect but left no
	// result. It is never executed again by a client's retry; a resolver or an operator settles it.
	StatusUnknown Status = "UNKNOWN"
)

// Layout is the form in which a record keeps its result, for others who read the same table.
type Layout string

// The layouts of a record.
const (
	// LayoutNative leaves the form to the store: it may compress the result, or keep it beside the
	// record.
	LayoutNative Layout = ""
	// LayoutText is the text of the result inside the record, as AWS Powertools for Python and Java
	// keep it.
	LayoutText Layout = "text"
	// LayoutValue is a value of the store's own kind inside the record, as AWS Powertools for
	// TypeScript keeps it. Such a value has no spelling: the result is the canonical JSON of
	// package fingerprint, and comes back as that.
	LayoutValue Layout = "value"
)

// Record is what a [Store] keeps for one key. It is a plain value. Its Result belongs to the caller
// of the store: the one that a call returns, and, once the call has returned, the one that it was
// handed. The caller may change it, so a store keeps copies.
//
// Times are exact to what a store keeps: Lease to the millisecond, Expiry to the second. The
// protocol rounds both up before it hands a record to a store.
type Record struct {
	// Key is the record key, "<operation>#<hash of scope and key>": printable ASCII without spaces.
	// A handler that shares records with AWS Powertools has their keys, "<prefix>#<digest>", whose
	// prefix may be any text.
	Key string
	// Status tells the states apart.
	Status Status
	// Owner is the random token of the claim that wrote the record last; empty in a record written
	// by AWS Powertools. Stores keep it verbatim.
	Owner string
	// Lease is the instant until which an in-progress record is protected from a takeover. The zero
	// time means that the record carries none.
	Lease time.Time
	// Expiry is the instant until which a record counts. From then on it is as good as gone,
	// whatever its status, unless it is in progress and its Lease lives; and a store may drop it.
	Expiry time.Time
	// Fingerprint is the digest of the request that the key stands for, with its algorithm version;
	// empty for none.
	Fingerprint string
	// Result is the JSON text of the result of a completed record; nil when there is none or when
	// Parts is set. Of a record that AWS Powertools wrote it is the text that it kept, which need
	// not be JSON.
	Result []byte
	// Layout is the form in which Result is kept. A record that AWS Powertools wrote as a value of
	// the store's kind comes with LayoutValue, one that it wrote as text with LayoutNative.
	Layout Layout
	// Parts is non-empty when the result is kept beside the record. Its content belongs to the
	// store, which must then implement [ResultReader].
	Parts string
	// Seal names the claim that completed the record and the digest of its result, see [Seal] and
	// [CommitSeal]; empty in a record that is not completed, or was completed by AWS Powertools.
	Seal string
	// Attempt counts the claims of the record, those of a reconciliation included, since it was
	// last deleted or replaced, the current one included. Zero means unknown.
	Attempt int
	// CreatedAt is the instant of the first claim, to the millisecond; the zero time means unknown.
	CreatedAt time.Time
	// Reason says why a record is UNKNOWN, what kind of result a completed one holds (empty: a
	// value), or, in a record in progress, that it was released, or why it was UNKNOWN before a
	// resolver was asked. See [ReasonReleased] and the constants beside it.
	Reason string
	// CompletedAt is the instant at which the result was stored, to the millisecond; the zero time
	// in a record that is not completed, or whose writer did not say.
	CompletedAt time.Time
	// SettledBy, SettledAt and SettledReason say who settled or released the record by hand, when,
	// to the millisecond, and why. They stay until the record is replaced by a claim; empty if
	// nobody did.
	SettledBy     string
	SettledAt     time.Time
	SettledReason string
	// Steps are the steps that the execution has written, by name; nil in a completed record. In
	// the next record of a Swap they are only those that the write changes. Nobody changes the map
	// after the record was handed to or returned by a store.
	Steps map[string]Step
	// StepWrites counts the writes of steps since the record was last claimed as a new one; 0 in a
	// completed record. A store counts them; of the next record of a Swap it means nothing.
	StepWrites int
	// Unmarked says that an execution may have begun steps without marking them first: any that
	// Steps does not have, except StepNames. Without it, only StepNames may have begun so. A
	// completed record has neither.
	Unmarked bool
	// StepNames are names of steps, see Unmarked. They are a set, as Derived is.
	StepNames []string
	// Attention marks a record that somebody has to settle, or will have to if its execution dies,
	// see [AttentionOf] and [GivenUpOf]; empty in every other one. Three kinds of records have it:
	//
	//   - one that is UNKNOWN, also while somebody asks about it
	//   - one that was released with steps
	//   - one in progress, from its claim on, of a handler that refuses crashed executions or has a
	//     resolver
	//
	// So it does not say that somebody has to settle the record now: status, reason, lease and
	// steps do.
	Attention string
	// AttentionAt is since when a record with Attention waits, or when it will, to the millisecond.
	// It is the zero time in every other record.
	//
	//   - UNKNOWN: since when; after a question without an answer, when it is asked about again
	//   - released with steps: when it is overdue
	//   - in progress: the end of the lease that its claim took. A renewal does not move it
	AttentionAt time.Time
	// Tries counts how often a reconciliation has asked about the record without an answer, since
	// the execution that it is about. It is 0 in a completed record.
	Tries int
	// Questions counts those claims of Attempt under which nothing was executed, because a resolver
	// was asked. The others are executions.
	Questions int
	// Trace is the trace context of the execution that has or had the record last, as the header
	// traceparent of W3C Trace Context has it (55 bytes). It is empty if nobody traces. A
	// reconciliation leaves it.
	Trace string
	// Story tells the last transitions of a record that did not simply complete, in at most 250
	// bytes: what happened, when, why and by whom. Package operate reads it; a store keeps it
	// verbatim.
	Story string
	// Derived are the names of the derived keys that the execution handed out, of a record with
	// Attention, as far as they are known; of one in progress, those that it may hand out. It is a
	// set: in ascending order, no name twice, none of them empty. Nobody changes it after the
	// record was handed to or returned by a store.
	Derived []string
}

// Operation returns the name of the wrapped handler, which the record key begins with; of a key
// that AWS Powertools made, its prefix. It is empty if the key names none.
func (r Record) Operation() string { return r.Key[:max(strings.LastIndexByte(r.Key, '#'), 0)] }

// Seal returns the text that a completion by owner with this result stores in [Record.Seal]: the
// owner, a dot, and the unpadded base64url of the result's SHA-256. It decides whether a completion
// whose reply was lost has landed, and whether a stored result is the one that was written.
func Seal(owner string, result []byte) string {
	return string(appendSeal(make([]byte, 0, sealSize), owner, result))
}

// sealSize is enough for the seal of an owner of 26 characters, which is what a claim has.
const sealSize = 80

func appendSeal(dst []byte, owner string, result []byte) []byte {
	sum := sha256.Sum256(result)
	dst = append(append(dst, owner...), '.')
	return base64.RawURLEncoding.AppendEncode(dst, sum[:])
}

// Sealed reports whether result is the one that the record's seal names. It is false for records
// that carry no seal.
func (r Record) Sealed(result []byte) bool {
	if r.Seal == "" {
		return false
	}
	of := appendSeal(make([]byte, 0, sealSize), r.Owner, result)
	// not strings.HasPrefix, which would copy the bytes
	return len(r.Seal) >= len(of) && r.Seal[:len(of)] == string(of) && endsSeal(r.Seal[len(of):])
}

// Claimable reports whether a claim may replace the record at the instant now: its expiry has come,
// whatever its status, and, if it is in progress, no lease lives any more. What has expired is
// gone, although a store may not have dropped it yet. Every other record is left to the protocol to
// judge. Stores that cannot express this as a condition of their own call it.
func (r Record) Claimable(now time.Time) bool {
	live := r.Status == StatusInProgress && !r.leaseOver(now)
	return !live && Reached(r.Expiry, now)
}

// Shortens reports whether next would move back the lease of the owner that holds r. A lease only
// grows while its owner holds the record: a renewal can be delayed in the network and arrive after
// a later one. [Store.Swap] refuses such a write.
func (r Record) Shortens(next Record) bool {
	renews := r.Owner != "" && r.Owner == next.Owner && next.Status == StatusInProgress
	return renews && !next.Lease.IsZero() && next.Lease.Before(r.Lease)
}

// Unheld reports whether nothing protects an in-progress record at the instant now: its lease has
// ended, or it was released, which counts whatever the lease says.
func (r Record) Unheld(now time.Time) bool {
	return r.Reason == ReasonReleased || r.leaseOver(now)
}

// Released reports whether an in-progress record is one that was released: nobody holds it, or a
// reconciliation asks about it, or did.
func (r Record) Released() bool { return r.Reason == ReasonReleased || r.Reason == ReasonAsked }

// leaseOver reports whether the lease of an in-progress record has ended.
func (r Record) leaseOver(now time.Time) bool { return Reached(r.ProtectedUntil(), now) }

// ProtectedUntil is the end of what protects an in-progress record, unless it was released. The
// lease outranks the expiry, which decides only where there is no lease.
func (r Record) ProtectedUntil() time.Time {
	if r.Lease.IsZero() {
		return r.Expiry
	}
	return r.Lease
}

// Reached reports whether a period that ends at end is over at the instant now. At its end a period
// is over. It is the one comparison of the module between the clock and an end.
func Reached(end, now time.Time) bool { return !now.Before(end) }

// Step is what a record in progress, or an UNKNOWN one, keeps of one step of its execution. It is a
// plain value. Nobody changes Result after the step was handed to or returned by a store.
type Step struct {
	// Kind tells what the step holds. In [Record.Steps] of the next record of a Swap, a step
	// without a kind removes the held one.
	Kind StepKind
	// Seal names the claim that wrote the step and the digest of its result, see [Seal]. The digest
	// of a start mark is that of no bytes.
	Seal string
	// Result is the JSON text of the result or of the failure; nil in a start mark, or when Parts
	// is set.
	Result []byte
	// Parts is non-empty when the result is kept beside the record, see [Record.Parts].
	// [Record.OfStep] returns what [ResultReader.ReadResult] takes.
	Parts string
	// Until, of a step that is written, is until when its record can live at most: the parts of its
	// result have to stay as long. A store does not keep it, and the zero time asks for nothing.
	Until time.Time
}

// StepKind is what a [Step] holds, as stored.
type StepKind string

// The kinds of steps.
const (
	// StepStarted is a start mark: the effect may have begun, and nobody has recorded its end.
	StepStarted StepKind = "started"
	// StepValue is a result.
	StepValue StepKind = "value"
	// StepFailure is a final failure, in the form in which Lambda reports errors.
	StepFailure StepKind = "failure"
)

// AnyStepWrites is the StepWrites of a record that is seen by somebody who does not compare it: the
// owner of the record, or who takes it over.
const AnyStepWrites = -1

// Owner is the token of the claim that wrote the step.
func (s Step) Owner() string { return s.Seal[:max(strings.LastIndexByte(s.Seal, '.'), 0)] }

// Sealed reports whether Result is the one that the step's seal names.
func (s Step) Sealed() bool {
	return Record{Owner: s.Owner(), Seal: s.Seal}.Sealed(s.Result)
}

// OfStep returns a record that has the result of a step in the place of its own, for
// [ResultReader.ReadResult].
func (r Record) OfStep(s Step) Record {
	if r.Expiry.Before(s.Until) {
		r.Expiry = s.Until
	}
	return Record{
		Key: r.Key, Status: StatusCompleted, Owner: s.Owner(), Expiry: r.Expiry, Seal: s.Seal,
		Result: s.Result, Parts: s.Parts,
	}
}

// Resumable reports whether the steps of the record tell all that its execution did: there is one
// at least, and none has begun without an end.
func (r Record) Resumable() bool {
	for _, s := range r.Steps {
		if s.Kind == StepStarted {
			return false
		}
	}
	return len(r.Steps) > 0
}

// Matches reports whether the held record r is the one that was seen, as [Store.Swap] and
// [Store.Delete] compare. Stores that cannot express this as a condition of their own call it.
func (r Record) Matches(seen Record) bool {
	switch {
	case r.Status != seen.Status || r.Owner != seen.Owner:
		return false
	case r.Status == StatusInProgress && r.Reason != seen.Reason:
		return false
	case r.Status != StatusCompleted && seen.StepWrites != AnyStepWrites && r.StepWrites != seen.StepWrites:
		return false
	case r.Owner == "":
		return r.Lease.Equal(seen.Lease) && r.Expiry.Equal(seen.Expiry)
	default:
		return seen.Lease.IsZero() || r.Lease.Equal(seen.Lease)
	}
}

// HandsOver reports whether a Swap of r for next gives the record another owner and does not
// complete it. Such a Swap returns the record as it is after the write.
func (r Record) HandsOver(next Record) bool {
	return r.Owner != next.Owner && next.Status != StatusCompleted
}

// Merged returns the steps of the held record r after a write of next, and the count of step
// writes: those of next replace those of the same name, and one without a kind removes it. A
// completion drops all. It reports false if next marks a step as started that r has.
func (r Record) Merged(next Record) (steps map[string]Step, writes int, ok bool) {
	if next.Status == StatusCompleted {
		return nil, 0, true
	}
	if len(next.Steps) == 0 {
		return r.Steps, r.StepWrites, true
	}
	steps = make(map[string]Step, len(r.Steps)+len(next.Steps))
	maps.Copy(steps, r.Steps)
	for name, s := range next.Steps {
		if _, has := r.Steps[name]; has && s.Kind == StepStarted {
			return nil, 0, false
		}
		if s.Kind == "" {
			delete(steps, name)
		} else {
			steps[name] = s
		}
	}
	if len(steps) == 0 {
		steps = nil
	}
	return steps, r.StepWrites + 1, true
}
