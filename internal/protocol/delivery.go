package protocol

import (
	"sync/atomic"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Settings are what all deliveries of a handler have in common. They are not modified once deliveries run.
type Settings struct {
	// Operation is the name of the handler.
	Operation string
	Store     store.Store
	// Now is the clock of records. The durations of a delivery are measured by the clock of contexts.
	Now func() time.Time
	// Layout is the form in which results are stored.
	Layout store.Layout
	// Retention is how long a completed record is replayed.
	Retention time.Duration
	// Wait is for how long a delivery waits for a running execution, 0 for not at all.
	Wait   time.Duration
	Timing Timing
	// Concurrent says that this process runs several invocations at once. Lambda does that on Managed
	// Instances, where nobody kills an invocation at its deadline.
	Concurrent bool
	// RefuseCrashed makes a crashed execution UNKNOWN, instead of executing again.
	RefuseCrashed bool
	// RefuseFailed makes an execution UNKNOWN that failed without a mark, instead of releasing it.
	RefuseFailed bool
	// Repeatable says that repeating the effect does no harm: a completion that fails leaves the record in progress, so that
	// it is executed again once its lease has ended.
	Repeatable bool
	// Resolves says that there is a resolver: it is asked about executions that crashed and about UNKNOWN records.
	Resolves bool
	// StepTypes are the types of results of steps that were seen.
	StepTypes StepTypes
}

// Timing holds the durations of one delivery; all are set.
type Timing struct {
	// Lease protects a claim whose context has no deadline, or a far one; it is renewed.
	Lease time.Duration
	// Margin is how long a lease outlives the deadline of its context.
	Margin time.Duration
	// Reserve is how long before the deadline the handler's context ends, at most a tenth of what is left.
	Reserve time.Duration
	// ClaimBudget bounds the claim, and the settlement likewise.
	ClaimBudget time.Duration
	// UnknownRetention is how long an UNKNOWN record is kept for its settlement.
	UnknownRetention time.Duration
}

// Delivery is one delivery on its way. Its zero value with the first three fields set is ready for [Delivery.Run], which is
// called once. It belongs to one goroutine; only the heartbeat, the steps and the commits of the handler run beside it. The heartbeat
// and a commit are joined before anything is settled; steps are refused then.
type Delivery struct {
	*Settings
	// RecordKey and Fingerprint are computed before any I/O. An empty fingerprint stands for none.
	RecordKey, Fingerprint string
	// Unwanted says that nobody looks at a result that is replayed: that there is one is enough.
	Unwanted bool
	// Report is filled in on the way, also when the handler panics.
	Report report.Delivery
	// Panic is what the handler panicked with after its commit, nil if it did not; Stack is where.
	Panic any
	Stack []byte

	// owner is the token of this claim.
	owner string
	// started and deadline (zero for none) are the delivery's by the clock of contexts, lease is the end of the lease
	// that a claim takes by the clock of records.
	started, deadline, lease time.Time
	// heartbeat says that the lease is short and renewed, and does not last until the deadline.
	heartbeat bool
	// protected is until when our lease protects the claim. Steps look at it while it is renewed.
	protected protected
	// mine is the record as this claim wrote it last, once it is claimed.
	mine store.Record
	// beside is the renewal that runs beside the handler. handlerEnd is the deadline of the handler's context, zero for none.
	// reserve is how long before the deadline that is.
	beside     background
	handlerEnd time.Time
	reserve    time.Duration
	// work is the handler.
	work Work
	// open is true while an UNKNOWN record that was taken over is neither settled nor executed again. openAs and openSince are its
	// attention, zero if it has none.
	open      bool
	openAs    string
	openSince time.Time
	// seenReason is why a record that was taken over needs a resolver, or that it was released. seenDerived are the names that
	// it had.
	seenReason  string
	seenDerived []string
	// seenUnmarked says that a step may have begun which that record does not have.
	seenUnmarked bool
	// handed are the names of the derived keys that the execution handed out.
	handed execution.Names
	// steps are those of the execution, ended is what was known of them when its handler had returned.
	steps steps
	ended stepsKnown
	// commits are those of the execution, committed is what was known of them when its handler had returned.
	commits   commits
	committed commitsKnown
	// notes are the errors that the handler noted.
	notes execution.Notes
	// inquiry is set if this is no delivery, but a question about a record.
	inquiry *Inquiry
	// resolving is true while the resolver is asked.
	resolving atomic.Bool
}
