package idempotent

import (
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// Status is the state of a [Record], as stored.
type Status string

// The states of a record. The first two are those of AWS Powertools; the third is native to this module.
const (
	// StatusInProgress is the state of a claimed record: an execution runs, or did until its process died.
	StatusInProgress Status = "INPROGRESS"
	// StatusCompleted is the state of a record that holds a result to replay.
	StatusCompleted Status = "COMPLETED"
	// StatusUnknown is the state of a record whose execution may have had its effect but left no result.
	// It is never executed again by a client's retry; a resolver or an operator settles it.
	StatusUnknown Status = "UNKNOWN"
)

// Layout is the form in which a record keeps its result, for others who read the same table.
type Layout string

// The layouts of a record.
const (
	// LayoutNative leaves the form to the store: it may compress the result, or keep it beside the record.
	LayoutNative Layout = ""
	// LayoutText is the text of the result inside the record, as AWS Powertools for Python, Java and .NET keep it.
	LayoutText Layout = "text"
	// LayoutValue is a value of the store's own kind inside the record, as AWS Powertools for TypeScript keeps it. Such a
	// value has no spelling: the result is the canonical JSON of package fingerprint, and comes back as that.
	LayoutValue Layout = "value"
)

// Record is what a [Store] keeps for one key. It is a plain value: copying it is safe, Result is never modified
// after the record was handed to or returned by a store.
//
// Times are exact to what a store keeps: Lease to the millisecond, Expiry to the second. The core rounds both up
// before it hands a record to a store.
type Record struct {
	// Key is the record key, "<operation>#<hash of scope and key>": printable ASCII without spaces. With
	// [WithPowertools] it is theirs, "<prefix>#<digest>", whose prefix may be any text.
	Key string
	// Status tells the states apart.
	Status Status
	// Owner is the random token of the claim that wrote the record last; empty in a record written by AWS Powertools.
	// Stores keep it verbatim.
	Owner string
	// Lease is the instant until which an in-progress record is protected from a takeover. The zero time means that the
	// record carries none.
	Lease time.Time
	// Expiry is the instant until which a completed record is replayed, and after which a store may drop the record,
	// whatever its status.
	Expiry time.Time
	// Fingerprint is the digest of the request that the key stands for, with its algorithm version; empty for none.
	Fingerprint string
	// Result is the JSON text of the result of a completed record; nil when there is none or when Parts is set. Of a record
	// that AWS Powertools wrote it is the text that it kept, which need not be JSON.
	Result []byte
	// Layout is the form in which Result is kept. A record that AWS Powertools wrote as a value of the store's kind comes
	// with LayoutValue, one that it wrote as text with LayoutNative.
	Layout Layout
	// Parts is non-empty when the result is kept beside the record. Its content belongs to the store, which must
	// then implement [ResultReader].
	Parts string
	// Commit names the claim that completed the record and the digest of its result, see [Commit]; empty in a record
	// that is not completed, or was completed by AWS Powertools.
	Commit string
	// Attempt counts the claims of the record since it was last released, the current one included. Zero means unknown.
	Attempt int
	// CreatedAt is the instant of the first claim, to the millisecond; the zero time means unknown.
	CreatedAt time.Time
	// Reason says why a record is UNKNOWN, or what kind of result a completed one holds (empty: a value).
	Reason string
}

// Commit returns the text that a completion by owner with this result stores in [Record.Commit]: the owner, a dot, and
// the unpadded base64url of the result's SHA-256. It decides whether a completion whose reply was lost has landed, and
// whether a stored result is the one that was written.
func Commit(owner string, result []byte) string {
	return string(appendCommit(make([]byte, 0, commitSize), owner, result))
}

// commitSize is enough for the commit of an owner of 26 characters, which is what a claim has.
const commitSize = 80

func appendCommit(dst []byte, owner string, result []byte) []byte {
	sum := sha256.Sum256(result)
	dst = append(append(dst, owner...), '.')
	return base64.RawURLEncoding.AppendEncode(dst, sum[:])
}

// Committed reports whether result is the one that the record's commit names. It is false for records that carry no
// commit.
func (r Record) Committed(result []byte) bool {
	return r.Commit != "" && r.Commit == string(appendCommit(make([]byte, 0, commitSize), r.Owner, result))
}

// Claimable reports whether a claim may replace the record at the instant now: it is completed and its expiry has come.
// Every other record is left to the core to judge. Stores that cannot express this as a condition of their own call it.
func (r Record) Claimable(now time.Time) bool {
	return r.Status == StatusCompleted && reached(r.Expiry, now)
}

// lapsed reports whether nothing protects an in-progress record any more. The lease outranks the expiry; the expiry
// decides only where there is no lease.
func (r Record) lapsed(now time.Time) bool {
	if r.Lease.IsZero() {
		return reached(r.Expiry, now)
	}
	return reached(r.Lease, now)
}

// reached is the one comparison of the module between the clock and an end: at its end a period is over.
func reached(end, now time.Time) bool { return !now.Before(end) }

// leaseEnd rounds a lease up to what stores keep.
func leaseEnd(t time.Time) time.Time { return ceil(t, time.Millisecond) }

// expiryAt rounds an expiry up to what stores keep, and never lets it come before the end of the lease: DynamoDB's TTL
// must not delete a record that still protects an execution.
func expiryAt(t, lease time.Time) time.Time {
	if t.Before(lease) {
		t = lease
	}
	return ceil(t, time.Second)
}

func ceil(t time.Time, unit time.Duration) time.Time {
	down := t.Truncate(unit)
	if down.Equal(t) {
		return down
	}
	return down.Add(unit)
}
