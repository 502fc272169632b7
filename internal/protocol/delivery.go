package protocol

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Settings are what all deliveries of a handler have in common. They are not modified once
// deliveries run.
type Settings struct {
	// Operation is the name of the handler.
	Operation string
	Store     store.Store
	// Now is the clock of records. Durations are measured by the clock of contexts.
	Now func() time.Time
	// Policy is what package life has to know. Its UnknownRetention is that of Timing.
	life.Policy

	// Documented makes the error of package idempotent of a fault; nil leaves it as it is.
	Documented func(*execution.Fault) error
	// Wait is for how long a delivery waits for a running execution, 0 for not at all.
	Wait   time.Duration
	Timing Timing
	// Concurrent says that this process runs several invocations at once, as on Managed Instances,
	// where nobody kills an invocation at its deadline.
	Concurrent bool
	// RefuseFailed makes an execution UNKNOWN that failed without a mark, instead of releasing it.
	// It is set only with RefuseCrashed.
	RefuseFailed bool
	// Repeatable says that repeating the effect does no harm: a completion that fails leaves the
	// record in progress, so that it is executed again once its lease has ended.
	Repeatable bool
	// StepTypes, Marks and Learned are what executions of this process have shown. StepTypes has
	// the types of results of steps, with why they cannot be recorded, if so. Learned are the names
	// of the derived keys that were handed out, where somebody has to know of a crash: an execution
	// that dies tells none.
	StepTypes sync.Map
	Marks     Marks
	Learned   execution.Names
}

// The defaults of the durations of a handler, see Timing and WithRetention of package idempotent.
const (
	DefaultRetention        = 24 * time.Hour
	DefaultUnknownRetention = 30 * 24 * time.Hour
	DefaultLease            = 30 * time.Second
	DefaultMargin           = 2 * time.Second
	DefaultReserve          = 500 * time.Millisecond
	DefaultClaimBudget      = 3 * time.Second
)

// Timing holds the durations of one delivery; all are set. Its fields are those of Timing of
// package idempotent, which documents them and is converted to it.
type Timing struct {
	Lease, Margin, Reserve, ClaimBudget, UnknownRetention time.Duration
}

// Delivery is one delivery on its way. Its zero value with the first three fields set is ready for
// [Delivery.Run], which is called once. It belongs to one goroutine. Beside it run the heartbeat
// and the commits of the handler, which are joined before anything is settled, and its steps, which
// are refused then.
type Delivery struct {
	*Settings
	// RecordKey and Fingerprint are computed before any I/O. An empty fingerprint stands for none.
	RecordKey, Fingerprint string
	// Trace is the trace context of this execution, empty for none.
	Trace string
	// Unwanted says that nobody looks at a result that is replayed: that there is one is enough. It
	// is filled in on the way, and so is Report, also when the handler panics.
	Unwanted bool
	Report   report.Delivery
	// Panic is what the handler panicked with after its commit, nil if it did not; Stack is where.
	Panic any
	Stack []byte

	claim claim
	// asks says that a resolver is asked first.
	asks bool
	// began is when the handler was to start, and end ends its context.
	began time.Time
	end   func()
	// steps and commits are those of the execution, handed the names of the derived keys that it
	// handed out, and notes the errors that the handler noted.
	steps   steps
	commits commits
	handed  execution.Names
	notes   execution.Notes
	// cause is the error that the execution, or the resolver in its place, has failed with.
	// questions is 1 if a resolver was asked and nothing was executed.
	cause     error
	questions int
}

// Handed returns the derived keys that the execution handed out, in the order of their names. What
// [execution.Names] leaves out is missing.
func (d *Delivery) Handed() []report.NamedKey { return d.claim.keysOf(&d.handed) }

// keysOf returns the derived keys of these names.
func (c *claim) keysOf(names *execution.Names) (keys []report.NamedKey) {
	of := execution.Claim{RecordKey: c.as.Key, Fingerprint: c.mine.Fingerprint}
	for _, name := range names.Sorted() {
		keys = append(keys, report.NamedKey{Name: name, Key: of.DerivedKey(name)})
	}
	return keys
}

// execution is the claim as the handler, or a resolver, knows it. handed also gets the names that
// executions before have handed out.
func (c *claim) execution(handed *execution.Names) execution.Claim {
	handed.Add(c.before.Derived...)
	return execution.Claim{
		Operation: c.Operation, RecordKey: c.as.Key, Owner: c.mine.Owner, Fingerprint: c.mine.Fingerprint,
		Attempt: c.mine.Attempt, Recovered: c.report.Recovered, CreatedAt: c.mine.CreatedAt, Handed: handed,
	}
}

// blame says where a fault was, unless it is nil.
func (c *claim) blame(f *execution.Fault, step string) *execution.Fault {
	if f != nil {
		f.Operation, f.RecordKey, f.Step = c.Operation, c.as.Key, step
	}
	return f
}

// told is how a commit ends for the handler.
func (c *claim) told(f *execution.Fault) error { return c.Settings.told(c.blame(f, "")) }

// told is how a commit ends for the handler: without an error, with that of the store if a
// condition of its writes does not hold, or with the documented one.
func (s *Settings) told(f *execution.Fault) error {
	if f == nil {
		return nil
	}
	if failed, ok := errors.AsType[*store.Error](f.Err); ok && errors.Is(f.Kind, store.ErrWritesRefused) {
		return failed.Err
	}
	return s.documented(f)
}

func (s *Settings) documented(f *execution.Fault) error {
	if s.Documented == nil {
		return f
	}
	return s.Documented(f)
}

// Work is the handler of one delivery as the protocol sees it.
type Work interface {
	// Execute runs the handler. It sets *returned once the handler has returned: should it panic
	// after that, the effect has happened.
	Execute(ctx context.Context, returned *bool) Ended
	// Answer returns what a completed record keeps of an answer that the handler commits, as
	// Execute does for the one that it returns. problem, and err, say why there is none: it cannot
	// be stored, or is not to be. It changes nothing.
	Answer(answer any) (text []byte, problem string, err error)
	// Resolve asks the resolver what became of an earlier execution under this claim.
	Resolve(ctx context.Context, c execution.Claim) Resolution
}

// Ended is how a handler ended.
type Ended struct {
	// Err is the error that the handler returned, with its marks.
	Err error
	// Keep says that the handler returned a result without an error, and that this result is to be
	// stored.
	Keep bool
	// Untouched says that the handler returned a result which is not to be stored, and which means
	// that nothing has happened.
	Untouched bool
	// Result is the text to store where the record completes: the result, or, if Failure is set,
	// the failure that Err marks as terminal. ResultErr is why there is none.
	Result    []byte
	Failure   bool
	ResultErr error
}

// Resolution is what a resolver found out.
type Resolution struct {
	Finding execution.Finding
	// Result and ResultErr are those of [Ended], of an execution that had its effect.
	Result    []byte
	ResultErr error
}

// Result is how a delivery ends, for whoever answers its caller.
type Result struct {
	// Outcome is Executed if what the handler returned is the answer.
	Outcome report.Outcome
	// Committed is true if the handler ran, and what it committed is the answer: it then returned
	// something else, or did not learn of it.
	Committed bool
	// Record is the one that is replayed, or that was committed, with its result, also where that
	// was kept in parts.
	Record store.Record
	// Expires is until when the answer is replayed, zero if it is not stored.
	Expires time.Time
	// Same says that what the handler returned says the same as what it had committed, in other
	// bytes.
	Same bool
	// RetryAfter is how long the lease of the execution in progress has left, never negative.
	RetryAfter time.Duration
	// Reason is why the outcome is unknown, or what is wrong with a record that cannot be read.
	Reason string
	// Err is the error of the store, or the cause of what is wrong.
	Err error
}

// since is a phase that began then and ends now.
func since(start time.Time) report.Phase { return report.Phase{Start: start, Took: time.Since(start)} }

func unreadableRecord(reason string) Result {
	return Result{Outcome: report.Unreadable, Reason: reason}
}
