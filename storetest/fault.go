package storetest

import (
	"errors"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Op names a method of a store, as [store.Error] does.
type Op string

// The methods of a store.
const (
	OpClaim      Op = "claim"
	OpSwap       Op = "swap"
	OpCommit     Op = "commit"
	OpApply      Op = "apply"
	OpDelete     Op = "delete"
	OpGet        Op = "get"
	OpReadResult Op = "read result"
	OpList       Op = "list"
	OpListCost   Op = "list cost"
)

// Call is one call of a [Faulty] store.
type Call struct {
	// N is the place of the call among all calls of the store. It counts from 1.
	N int
	// Op is the method.
	Op Op
	// Seen is what Swap, Commit and Delete were handed as the record that was seen, and what
	// ReadResult was handed.
	Seen store.Record
	// Next is what Claim, Swap and Commit were handed as the record to write.
	Next store.Record
	// Writes and Token are what Commit and Apply were handed.
	Writes store.Writes
	Token  string
}

// Fault is what a [Faulty] store does to a call. The zero value is Pass.
type Fault int

const (
	// Pass lets the call through.
	Pass Fault = iota
	// Refuse answers that the call was throttled and is known not to be applied.
	Refuse
	// LoseRequest fails the call before it is applied. The caller cannot know that.
	LoseRequest
	// LoseReply applies the call and then fails it.
	LoseReply
	// HangBefore does not apply the call, and answers only when its context has ended.
	HangBefore
	// HangAfter applies the call, and answers only when its context has ended.
	HangAfter
	// DieBefore is HangBefore for this call and for all later ones: to the store the process is
	// dead.
	DieBefore
	// DieAfter is HangAfter for this call and HangBefore for all later ones.
	DieAfter
	// Slow takes [SlowFor], whatever the context says, and then passes.
	Slow
	// Deny answers that access is denied, which no retry mends, and that the call was not applied.
	Deny
)

// SlowFor is how long a Slow call waits before it passes.
const SlowFor = 200 * time.Millisecond

// ErrInjected is wrapped by every error that a [Faulty] store makes itself. Errors of the store
// inside do not wrap it.
var ErrInjected = errors.New("injected")

// OnCall is a rule that does fault to the n-th call and lets all others pass. It counts from 1.
func OnCall(n int, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.N == n {
			return fault
		}
		return Pass
	}
}

// OnOp is a rule that does fault to every call of op and lets all others pass.
func OnOp(op Op, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.Op == op {
			return fault
		}
		return Pass
	}
}
