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

// The states of a record. The first two are those of AWS Powertools.
const (
	StatusInProgress Status = "INPROGRESS" // claimed: an execution runs, or its process has died
	StatusCompleted  Status = "COMPLETED"  // the record holds a result to replay
	// StatusUnknown: the execution may have had its effect but left no result. No retry of a client
	// executes it again; a resolver or an operator settles it.
	StatusUnknown Status = "UNKNOWN"
)

// The reasons that records carry, see [Record.Reason]. They are stored: never change one.
const (
	// ReasonTerminal is the reason of a completed record that holds a stored error. An UNKNOWN
	// record has it if that error could not be stored.
	ReasonTerminal = "terminal"
	// ReasonReleased is the reason of a record in progress that was released and not deleted. It
	// counts as one whose lease has ended, whatever its lease says, and is taken over whatever the
	// effects are, because that is no crash.
	ReasonReleased = "released"
	// ReasonAsked is the reason of a released record that a reconciliation asks about: its lease
	// protects it. Once that has ended, the record counts as released again.
	ReasonAsked = "asked"

	ReasonUncertain  = "uncertain"   // the handler marked its error as uncertain
	ReasonResultLost = "result-lost" // the handler returned, but its result could not be stored

	// The policy refuses crashed executions, and this one crashed:

	ReasonPanic       = "panic"       // the handler panicked or called runtime.Goexit
	ReasonInterrupted = "interrupted" // its context ended before there was a result to store
	ReasonCrashed     = "crashed"     // its lease ended, and nobody said how

	// The policy refuses failed executions, and this one failed:

	ReasonError     = "error"      // the handler failed
	ReasonNotStored = "not-stored" // its result is not to be stored
)

// Layout is the form in which a record keeps its result, for others who read the same table.
type Layout string

// The layouts of a record.
const (
	// LayoutNative leaves it to the store to compress the result, or to keep it beside the record.
	LayoutNative Layout = ""
	// LayoutText is a text inside the record, as AWS Powertools for Python and Java keep it.
	LayoutText Layout = "text"
	// LayoutValue is a value of the store's own kind inside the record, as AWS Powertools for
	// TypeScript keeps it. Such a value has no spelling: the result is the canonical JSON of
	// package fingerprint, and comes back as that.
	LayoutValue Layout = "value"
)

// Record is what a [Store] keeps for one key. It is a plain value. Its Result belongs to the caller
// of the store: the one that a call returns, and, once the call has returned, the one that it was
// handed. The caller may change it, so a store keeps copies. Nobody changes maps and lists.
//
// Times are exact to the millisecond, and Expiry to the second: the protocol rounds Lease and
// Expiry up before it hands a record to a store. A zero field says that there is none, or that
// nobody knows.
type Record struct {
	// Key is "<operation>#<hash of scope and key>": printable ASCII without spaces. Shared with AWS
	// Powertools it is "<prefix>#<digest>", whose prefix may be any text.
	Key    string
	Status Status
	// Owner is the random token of the claim that wrote the record last; empty in a record written
	// by AWS Powertools.
	Owner string
	// Lease is the instant until which an in-progress record is protected from a takeover.
	Lease time.Time
	// Expiry is the instant until which a record counts. From then on it is as good as gone,
	// whatever its status, unless it is in progress and its Lease lives.
	Expiry time.Time
	// Fingerprint is the digest of the request that the key stands for, with its algorithm version.
	Fingerprint string
	// Result is the JSON text of the result of a completed record; nil when Parts is set. Of a
	// record that AWS Powertools wrote it is the text that it kept, which need not be JSON.
	Result []byte
	// Layout is the form in which Result is kept. What AWS Powertools wrote as a value of the
	// store's kind comes with LayoutValue, and what it wrote as text with LayoutNative.
	Layout Layout
	// Parts is non-empty when the result is kept beside the record. Its content belongs to the
	// store, which must then implement [ResultReader].
	Parts string
	// Seal names the claim that completed the record and the digest of its result, see [Seal] and
	// [CommitSeal]; empty in a record that AWS Powertools completed.
	Seal string
	// Attempt counts the claims of the record since it was last deleted or replaced, with the
	// current one and those of reconciliations.
	Attempt   int
	CreatedAt time.Time // of the first claim
	// Reason, say [ReasonReleased], tells why a record is UNKNOWN, what kind of result a completed
	// one holds (empty: a value), or, in a record in progress, that it was released, or why it was
	// UNKNOWN before a resolver was asked.
	Reason      string
	CompletedAt time.Time // when the result was stored
	// SettledBy, SettledAt and SettledReason say who settled or released the record by hand, when
	// and why. They stay until the record is replaced by a claim.
	SettledBy     string
	SettledAt     time.Time
	SettledReason string
	// Steps are the steps that the execution has written, by name; nil in a completed record. In
	// the next record of a Swap they are only those that the write changes.
	Steps map[string]Step
	// StepWrites is how the store counts the writes of steps since the record was last claimed as a
	// new one; 0 in a completed record. In the next record of a Swap it means nothing.
	StepWrites int
	// Unmarked says that an execution may have begun steps without marking them first: any that
	// Steps does not have, except StepNames. Without it, only StepNames may have begun so. A
	// completed record has neither.
	Unmarked bool
	// StepNames are names of steps, see Unmarked. They are a set, as Derived is.
	StepNames []string
	// Attention marks a record that somebody has to settle, or will have to if its execution dies,
	// see [AttentionOf] and [GivenUpOf]. Status, reason, lease and steps say whether it is so now.
	// Three kinds of records have it, and AttentionAt is since when they wait, or when they will:
	//
	//   - UNKNOWN, also while somebody asks about it: since when; after a question without an
	//     answer, when it is asked about again
	//   - released with steps: when it is overdue, see [ReleasedWait]
	//   - in progress, of a handler that refuses crashed executions or has a resolver: the end of
	//     the lease that its claim took. A renewal does not move it
	Attention   string
	AttentionAt time.Time
	// Tries counts how often a reconciliation has asked about the last execution without an answer.
	// It is 0 in a completed record.
	Tries int
	// Questions counts those claims of Attempt that asked a resolver instead of the handler.
	Questions int
	// Trace is the trace context of the execution that has or had the record last, as the header
	// traceparent of W3C Trace Context has it (55 bytes). A reconciliation leaves it.
	Trace string
	// Story tells the last transitions of a record that did not simply complete, in at most 250
	// bytes: what happened, when, why and by whom. Package operate reads it.
	Story string
	// Derived are the names of the derived keys that the execution handed out, of a record with
	// Attention, as far as they are known; of one in progress, those that it may hand out. It is a
	// set: in ascending order, no name twice, none of them empty.
	Derived []string
}

// Operation returns the name of the wrapped handler, which the record key begins with; of a key
// that AWS Powertools made, its prefix.
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

// Sealed reports whether the record has a seal, and result is the one that it names.
func (r Record) Sealed(result []byte) bool {
	if r.Seal == "" {
		return false
	}
	of := appendSeal(make([]byte, 0, sealSize), r.Owner, result)
	// not strings.HasPrefix, which would copy the bytes
	return len(r.Seal) >= len(of) && r.Seal[:len(of)] == string(of) && endsSeal(r.Seal[len(of):])
}

// Claimable reports whether a claim may replace the record at the instant now: its expiry has come,
// whatever its status, and, if it is in progress, no lease lives any more. The protocol judges
// every other record. Stores that cannot express this as a condition of their own call it.
func (r Record) Claimable(now time.Time) bool {
	live := r.Status == StatusInProgress && !Reached(r.ProtectedUntil(), now)
	return !live && Reached(r.Expiry, now)
}

// Shortens reports whether next would move back the lease of the owner that holds r, which
// [Store.Swap] refuses: a renewal can be delayed in the network and arrive after a later one.
func (r Record) Shortens(next Record) bool {
	renews := r.Owner != "" && r.Owner == next.Owner && next.Status == StatusInProgress
	return renews && !next.Lease.IsZero() && next.Lease.Before(r.Lease)
}

// Unheld reports whether nothing protects an in-progress record at the instant now: its lease has
// ended, or it was released.
func (r Record) Unheld(now time.Time) bool {
	return r.Reason == ReasonReleased || Reached(r.ProtectedUntil(), now)
}

// Released reports whether an in-progress record is one that was released: nobody holds it, or a
// reconciliation asks about it, or did.
func (r Record) Released() bool { return r.Reason == ReasonReleased || r.Reason == ReasonAsked }

// ProtectedUntil is the end of what protects an in-progress record, unless it was released. The
// lease outranks the expiry, which decides only where there is no lease.
func (r Record) ProtectedUntil() time.Time {
	if r.Lease.IsZero() {
		return r.Expiry
	}
	return r.Lease
}

// Reached reports whether a period that ends at end is over at the instant now: at its end it is.
// It is the one comparison of the module between the clock and an end.
func Reached(end, now time.Time) bool { return !now.Before(end) }

// Step is what a record in progress, or an UNKNOWN one, keeps of one step of its execution. It is a
// plain value, and nobody changes its Result.
type Step struct {
	// Kind tells what the step holds. In [Record.Steps] of the next record of a Swap, a step
	// without a kind removes the held one.
	Kind StepKind
	// Seal names the claim that wrote the step and the digest of its result, see [Seal]. The digest
	// of a start mark is that of no bytes.
	Seal string
	// Result is the JSON text of the result or of the failure, nil in a start mark.
	Result []byte
	// Parts is as [Record.Parts]. [Record.OfStep] returns what [ResultReader.ReadResult] takes.
	Parts string
	// Until, of a step that is written, is until when its record can live at most: the parts of its
	// result have to stay as long. A store does not keep it, and the zero time asks for nothing.
	Until time.Time
}

// StepKind is what a [Step] holds, as stored.
type StepKind string

// The kinds of steps.
const (
	StepStarted StepKind = "started" // the effect may have begun, and nobody has recorded its end
	StepValue   StepKind = "value"   // a result
	StepFailure StepKind = "failure" // a final failure, in the form in which Lambda reports errors
)

// AnyStepWrites are those of a record whose owner, or who takes it over, does not compare them.
const AnyStepWrites = -1

// Owner is the token of the claim that wrote the step.
func (s Step) Owner() string { return s.Seal[:max(strings.LastIndexByte(s.Seal, '.'), 0)] }

// Sealed reports whether Result is the one that the step's seal names.
func (s Step) Sealed() bool {
	return Record{Owner: s.Owner(), Seal: s.Seal}.Sealed(s.Result)
}

// OfStep returns a record with the result of a step for its own.
func (r Record) OfStep(s Step) Record {
	if r.Expiry.Before(s.Until) {
		r.Expiry = s.Until
	}
	return Record{
		Key: r.Key, Status: StatusCompleted, Owner: s.Owner(), Expiry: r.Expiry, Seal: s.Seal,
		Result: s.Result, Parts: s.Parts,
	}
}

// Resumable reports whether the steps of the record tell all that its execution did: there are
// some, and none has begun without an end.
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
// complete it, see [Store.Swap].
func (r Record) HandsOver(next Record) bool {
	return r.Owner != next.Owner && next.Status != StatusCompleted
}

// Merged returns the steps of the held record r after a write of next, and the count of step
// writes. Steps of next replace those of the same name, and a completion drops all. It reports
// false if next marks a step as started that r has.
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
		steps[name] = s
	}
	maps.DeleteFunc(steps, func(_ string, s Step) bool { return s.Kind == "" })
	return steps, r.StepWrites + 1, true
}
