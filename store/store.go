// Package store is the contract between the protocol and the stores of records. Whoever uses
// idempotent.Wrap need not read it; the author of a store reads it all, and runs package storetest.
//
// Words: a record is what a store keeps for one key. A claim is the taking of a record, and owner
// is the random token of one claim. The lease is the instant until which a claim is protected; a
// takeover claims a record whose lease has ended. The expiry is the instant until which a record
// counts at all. A seal names the claim that completed a record and the digest of its result.
package store

import (
	"context"
	"time"
)

// Store keeps the records of handlers. It is a compare-and-swap register per key: every write is
// conditional on what the caller has seen, and a write that is refused reports what is there
// instead. All decisions are the core's; a store compares, writes and reads. It has no clock: every
// instant it needs is handed to it.
//
// # The contract
//
// A store MUST be linearizable per key: once a write has been acknowledged, every later call sees
// it, in every process. Reads are strongly consistent. Methods MUST be safe for concurrent use,
// MUST respect the context's deadline and cancellation, and MUST NOT keep a goroutine after they
// return.
//
// A record is "held" while the store has one under the key. A store MAY drop a record some time
// after its Expiry; it MUST NOT drop it at that instant or earlier, and callers never rely on it
// being dropped.
//
// A store keeps every field of a [Record] exactly: texts verbatim, results byte for byte, whether
// they are JSON or not; nil and empty are the same. It keeps bytes of its own: nobody can alter
// what is stored through what was handed in or out. It keeps what it does not know: attributes that
// another version wrote into a record survive a Swap. A write that is refused changes nothing, also
// not the result that the held record has.
//
// The [Layout] of a record is for a store whose records others read. Such a store keeps a result of
// another layout than LayoutNative inside the record, in that form, or fails with a [*Error] that
// has NotApplied set and does not pass. Every other store keeps the layout like any other field.
//
// # Errors
//
// A refused condition is no error. A method returns an error only if it cannot say what it was
// asked. A record that is there but cannot be understood is an [*UnreadableError]. Everything else
// SHOULD be a [*Error], which tells the kind of failure and whether a write is known not to have
// been applied. The core takes any other error as a failure of unknown outcome that may pass.
//
// The outcome of a write is known only if every attempt of it was answered. A store that retries
// inside a call, or uses a client that does, MUST set [Error.NotApplied] only if no attempt can
// have been applied or can still be. It MAY resolve a lost reply by itself only as far as its
// conditions do so: a repeated write that is refused by its own first attempt reports that record
// as held, and the core recognises the owner.
//
// What the interface cannot prevent: a request that was delayed in the network may be applied after
// its caller gave up. The conditions bound what it can do; the lease bounds how long.
type Store interface {
	// Claim writes r if no record is held under r.Key or if the held one is claimable at now, see
	// [Record.Claimable]. The new record replaces the held one completely. When refused, it returns
	// the record held then or later in the call; a zero record says that the one that refused was
	// gone when it was looked at, and the caller may claim again.
	Claim(ctx context.Context, r Record, now time.Time) (held Record, claimed bool, err error)

	// Swap replaces the held record by next if it is the one that was seen:
	//
	//   - its Status is seen.Status, and
	//   - its Owner is seen.Owner, and, unless seen.Lease is zero, its Lease is seen.Lease; a
	//     record without an owner (AWS Powertools wrote it) is identified by its Lease, absent if
	//     zero, and its Expiry instead, and
	//   - unless seen is completed, its Reason is seen.Reason if it is in progress, and its
	//     StepWrites are seen.StepWrites, unless those are [AnyStepWrites], and
	//   - it has no step that next marks as started, and
	//   - next does not move back the lease of its owner, see [Record.Shortens].
	//
	// seen is a record as the store returned it or was handed it, except that its Lease and Expiry
	// may be zero and its StepWrites [AnyStepWrites]; next has the same Key. A zero next.Lease
	// keeps the held lease. The steps of next change those of the held record, see [Record.Merged],
	// and seen.Steps name at least those that a completion has to drop. Every other field of next
	// replaces that of the held record. A store may skip fields in which next and seen are equal.
	//
	// When refused, it returns the record held then or later in the call, or a zero record if there
	// is none. When it gave the record another owner and did not complete it, see
	// [Record.HandsOver], it returns that record as it is after the write, steps included: an owner
	// that has lost its lease, or whose record became UNKNOWN, may have written one since the
	// record was seen. What any other Swap returns when it succeeds means nothing.
	Swap(ctx context.Context, seen, next Record) (held Record, swapped bool, err error)

	// Delete removes the held record if it is the one that was seen, by the comparison of Swap:
	// also by its step writes, so that who has seen none deletes none. Otherwise deleted is false.
	Delete(ctx context.Context, seen Record) (deleted bool, err error)

	// Get reads the record held under key.
	Get(ctx context.Context, key string) (r Record, found bool, err error)
}

// ResultReader is implemented by stores that keep large results beside the record.
type ResultReader interface {
	// ReadResult returns the result of a record that the store returned with Parts set, once it has
	// verified that this is the one which the record's Seal names: nobody else does. The bytes are
	// the caller's. A part that is missing or altered is an [*UnreadableError]; parts stay a while
	// after their record is gone or replaced, so that a reader who saw it still finds them.
	//
	// A store that reads piece by piece repeats a request that is not answered within a part of the
	// time that ctx has, and reads no piece twice. The same holds for the pieces of a large result
	// that Claim or Swap write.
	ReadResult(ctx context.Context, r Record) ([]byte, error)
}
