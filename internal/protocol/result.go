package protocol

import (
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Outcome is how a delivery that needs protection ends.
type Outcome int

// The outcomes.
const (
	// Executed: the handler ran, and what it returned is the answer.
	Executed Outcome = iota
	// Committed: the handler ran, and what it committed is the answer: it then returned something else, or did not learn of it.
	Committed
	// CommitFailed: the handler ran, and returned an answer although its commit had failed. Nothing of it is stored.
	CommitFailed
	// Replayed: a stored result is the answer.
	Replayed
	// Resolved: the result that the resolver found is the answer.
	Resolved
	// Mismatch: the key belongs to another request.
	Mismatch
	// InProgress: another execution holds the key.
	InProgress
	// Superseded: the handler ran and lost its lease, and another execution of the request holds the key.
	Superseded
	// UnknownOutcome: an earlier execution may have had its effect.
	UnknownOutcome
	// Unreadable: the record cannot be understood.
	Unreadable
	// Unavailable: the store could not answer.
	Unavailable
)

// Result is how a delivery ends, for whoever answers its caller.
type Result struct {
	Outcome Outcome
	// Record is the one that is replayed, or that was committed, with its result, also where that was kept in parts.
	Record store.Record
	// Expires is until when the answer is replayed, zero if it is not stored.
	Expires time.Time
	// Same says that what the handler returned says the same as what it had committed, in other bytes.
	Same bool
	// RetryAfter is how long the lease of the execution in progress has left, never negative.
	RetryAfter time.Duration
	// Reason is why the outcome is unknown, or what is wrong with a record that cannot be read.
	Reason string
	// Err is the error of the store, or the cause of what is wrong.
	Err error
}

// Settlement is what became of the record of an execution.
type Settlement int

// The settlements.
const (
	// NotSettled: nothing was executed or resolved, and the record is as it was.
	NotSettled Settlement = iota
	// Completed: the result is stored.
	Completed
	// Released: the record is gone, or holds nothing but steps, and the next delivery executes.
	Released
	// Unknown: this delivery has made the record UNKNOWN.
	Unknown
	// LeftUnknown: the record is UNKNOWN as it was before; a resolver could not settle it.
	LeftUnknown
	// Elsewhere: the lease was lost during the execution, and someone else owns the record now.
	Elsewhere
	// Failed: the store did not answer; the record stays in progress until its lease ends.
	Failed
)

// Report is what an observer gets to know of a delivery, beside its result.
type Report struct {
	Settlement Settlement
	// Reason is that of the record where it became or is UNKNOWN.
	Reason string
	// Attempt is the number of this execution under its record, from 1; 0 if none was claimed.
	Attempt int
	// Recovered is true if the claim was a takeover.
	Recovered bool
	// StoreErr is the last failure of the store that did not decide the result, or [execution.ErrLeaseLost].
	StoreErr error
	// Steps are those that the execution asked for, in the order in which they ended. Orphans are the names of those that the record
	// had and that an execution which was completed did not ask for.
	Steps   []StepReport
	Orphans []string
	// Commits are those that the handler tried, in their order.
	Commits []CommitReport
	// Panic is what the handler panicked with after its commit, nil if it did not; Stack is where.
	Panic any
	Stack []byte
	// Claim, Wait, Handle and Settle are the durations of the phases; 0 for one that did not happen.
	Claim, Wait, Handle, Settle time.Duration
}

func unreadableRecord(reason string) Result { return Result{Outcome: Unreadable, Reason: reason} }

// cause is the error that stands for a result which is none, for an observer.
func (r Result) cause() error {
	if r.Outcome == Unreadable {
		return &store.UnreadableError{Reason: r.Reason, Err: r.Err}
	}
	return r.Err
}
