package idempotent

import (
	"context"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
)

// Execution is what a handler can know about the claim that it runs under.
type Execution struct {
	// Operation is the name of the wrapped handler.
	Operation string
	// RecordKey names the record in the store: the operation and a digest of scope and key.
	RecordKey string
	// Attempt is the number of this execution under its record, from 1. A release begins the count
	// anew, unless the record has steps, or an operator or a resolver released it. Each question of
	// a reconciliation counts, too.
	Attempt int
	// Recovered is true if an earlier execution did not end properly: its effects may be repeated.
	Recovered bool
	// CreatedAt is when the record was first claimed, to the millisecond: the same in every
	// execution that resumes with its steps. It is zero if the writer of the record did not say.
	CreatedAt time.Time

	fingerprint, step string
	handed            *execution.Names
}

// FromContext returns the execution that a context belongs to. It reports false if there is none:
// outside of a delivery, if the protection is turned off, or if the request runs without a key.
func FromContext(ctx context.Context) (Execution, bool) {
	c, ok := execution.From(ctx)
	return executionOf(c), ok
}

func executionOf(c execution.Claim) Execution {
	return Execution{
		Operation: c.Operation, RecordKey: c.RecordKey, Attempt: c.Attempt, Recovered: c.Recovered,
		CreatedAt:   c.CreatedAt,
		fingerprint: c.Fingerprint, step: c.Step, handed: c.Handed,
	}
}

// DerivedKey returns an idempotency key to pass to another service: 36 characters, a UUID in text
// form (RFC 9562, version 8). It depends on the record key, the fingerprint and the name. So it is
// the same for every attempt of one request: over retries, releases, takeovers and crashes, and
// also after the retention. It changes if the client's key comes back with another request. Use one
// name for each effect; inside of a [Step] the empty name stands for that of the step.
//
// In an execution that is not protected each call returns another, random key.
//
// In a context that belongs to no delivery it panics with a [*LostContextError]: an adapter that
// does not pass on the handler's context would otherwise make every attempt another charge. Code
// that also runs in jobs says so with [Unprotected], a test uses idempotenttest.Context.
func DerivedKey(ctx context.Context, name string) string {
	c, ok := execution.From(ctx)
	switch {
	case ok:
		return c.DerivedKey(name)
	case execution.IsUnprotected(ctx):
		return execution.RandomKey()
	default:
		panic(&LostContextError{Function: "DerivedKey", Name: name})
	}
}

// Unprotected returns a context for code outside of any delivery, such as a job: [DerivedKey]
// returns random keys in it. Inside of a delivery it hides the execution.
func Unprotected(ctx context.Context) context.Context { return execution.Unprotected(ctx, nil) }

// LostContextError is what [DerivedKey] and [Mark] panic with if their context belongs to no
// delivery.
type LostContextError struct {
	// Function is DerivedKey or Mark.
	Function string
	// Name is that of the key, empty of Mark.
	Name string
	// Err is the error that was to be noted, nil of DerivedKey. It is no part of the text.
	Err error
}

func (e *LostContextError) Error() string {
	call := e.Function
	if e.Name != "" {
		call += fmt.Sprintf(" %q", e.Name)
	}
	return "idempotent: " + call +
		": the context belongs to no delivery. Pass on the context that the handler was given, also " +
		"through adapters and http.Request.WithContext. Where there is none, say so with idempotent.Unprotected"
}

// Unwrap returns Err.
func (e *LostContextError) Unwrap() error { return e.Err }

// DerivedKey is the function [DerivedKey] in this execution: a resolver asks with its keys.
func (x Execution) DerivedKey(name string) string {
	return execution.Claim{
		RecordKey: x.RecordKey, Fingerprint: x.fingerprint, Step: x.step,
		Handed: x.handed,
	}.DerivedKey(name)
}

// Resolution is what a resolver found out, see [WithResolver]. Its zero value is [StillUnknown].
type Resolution[Out any] struct {
	finding execution.Finding
	out     Out
}

type found = Resolution[any]

// Executed says that the earlier execution had its effect. Its result is stored and returned.
func Executed[Out any](out Out) Resolution[Out] {
	return Resolution[Out]{finding: execution.HasExecuted, out: out}
}

// Untouched says that the earlier execution had no effect and will have none: the handler runs;
// after [Handler.Reconcile], which has no event, it runs for the next request.
func Untouched[Out any]() Resolution[Out] { return Resolution[Out]{finding: execution.Untouched} }

// StillUnknown says that nobody can tell yet. With [WithResolver] the record becomes UNKNOWN, and
// the next delivery asks again. In [Handler.Reconcile] it stays, and is due later.
func StillUnknown[Out any]() Resolution[Out] { return Resolution[Out]{} }

// Result returns what [Executed] was given, else false. It is for tests of resolvers.
func (r Resolution[Out]) Result() (Out, bool) { return r.out, r.finding == execution.HasExecuted }

// IsUntouched reports whether the finding is [Untouched]. It is for tests of resolvers.
func (r Resolution[Out]) IsUntouched() bool { return r.finding == execution.Untouched }

// Trace is what a tracer gives to one delivery.
type Trace struct {
	// Context is under what the delivery runs, its handler and its calls of the store included. The
	// tracer makes it from the one that it got.
	Context context.Context //nolint:containedctx // it goes back to whoever runs under it
	// Parent is the trace context of the delivery's span, as the header traceparent of W3C Trace
	// Context has it, empty for none. The record keeps it, so that a replay can name its execution.
	Parent string
	// End gets the report after the observer, also if the handler panics. It may be nil.
	End func(report.Delivery)
}
