package idempotent

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
)

// Sentinels for [errors.Is]. For each of them but ErrLeaseLost and ErrCommitRefused there is a struct with the data of the error: the
// handler returns a pointer to it, which [errors.As] finds. An HTTP handler does not return these errors: it answers
// with a problem document. The observer gets them in either case, see [WithObserver].
var (
	// ErrMissingKey is returned when a request that needs a key carries none, or only part of one.
	ErrMissingKey = errors.New("idempotency key is missing")
	// ErrInvalidKey is returned when the key of a request is malformed, or when no key or no fingerprint can be made of
	// what the request holds.
	ErrInvalidKey = errors.New("idempotency key is invalid")
	// ErrStaleRequest is returned when the timestamp of a request is missing, malformed, or outside of the limits, see
	// [HTTP.MaxRequestAge]. The handler did not run.
	ErrStaleRequest = errors.New("the timestamp of the request is not accepted")
	// ErrMissingTenant is returned when [HTTP.RequireTenant] is set and the caller cannot be identified. The handler did not
	// run.
	ErrMissingTenant = errors.New("the caller is not identified")
	// ErrMismatch is returned when a key comes back with another fingerprint. The handler did not run.
	ErrMismatch = errors.New("idempotency key was used for another request")
	// ErrInProgress is returned when another execution holds the key. The handler did not run.
	ErrInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrSuperseded is returned when the handler, or the resolver, ran, but lost its lease meanwhile, and another execution of the
	// same request holds the key. The other one answers the request; this one may have had its effect.
	ErrSuperseded = errors.New("the execution lost its lease, and another one of the request is in progress")
	// ErrWrappedTwice is returned when a delivery asks for the very record that its own caller executes: the handler is wrapped
	// twice on one store, as by a middleware, or a handler calls Handle for its own request. The inner handler did not run.
	ErrWrappedTwice = errors.New("the handler is wrapped twice: its own caller holds the idempotency key")
	// ErrUnknownOutcome is returned when an earlier execution may have had its effect and must not be repeated.
	ErrUnknownOutcome = errors.New("the outcome of the request with this idempotency key is unknown")
	// ErrUnreadable is returned when the stored record cannot be understood. The handler did not run; an operator has
	// to look at the record.
	ErrUnreadable = errors.New("the idempotency record cannot be read")
	// ErrStoreUnavailable is returned when the store cannot answer. The handler did not run.
	ErrStoreUnavailable = errors.New("the idempotency store is unavailable")
	// ErrRefused is returned when the key, the tenant or the fingerprint of a request could not be computed, because a
	// function of the configuration failed, or because the event is of another kind than the handler's. The handler did
	// not run. The data is in a *RefusedError, or, if the payload does not decode, in a [*DecodeError].
	ErrRefused = errors.New("the request could not be prepared")
	// ErrLeaseLost is what a [Step] fails with if somebody else owns the record, or if the lease has ended. It is also the
	// [context.Cause] of a handler's context if the lease could not be renewed, and the [report.Delivery.StoreErr] of an execution that found
	// another owner in its record. A handler that returns it has crashed: nothing is released. If another execution of the request
	// has the record then, the delivery is answered with the result of that, or with [ErrSuperseded].
	ErrLeaseLost = execution.ErrLeaseLost
	// ErrCommitRefused is what a commit of the handler, such as dynamo.Commit, fails with if it was wrong to call it and nothing was
	// sent. The claim stands.
	ErrCommitRefused = execution.ErrCommitRefused
	// ErrCommitFailed is what a commit of the handler fails with if the store did not take it. The execution has failed: it stores no
	// answer any more. It is also returned when a handler answers all the same: then nothing of that answer is stored or sent. An HTTP
	// handler that returns it is answered with a problem document.
	ErrCommitFailed = execution.ErrCommitFailed
)

// MissingKeyError is the data of [ErrMissingKey].
type MissingKeyError struct {
	Operation string
	// Source names where a key was looked for, for example the header.
	Source string
}

func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("idempotent: %s: no idempotency key in %s", e.Operation, e.Source)
}

// Is reports whether target is [ErrMissingKey].
func (e *MissingKeyError) Is(target error) bool { return target == ErrMissingKey }

func (*MissingKeyError) outcome() report.Outcome { return report.MissingKey }

// InvalidKeyError is the data of [ErrInvalidKey].
type InvalidKeyError struct {
	Operation string
	// Source names where the key was found, Reason says what is wrong with it. Neither holds the key.
	Source, Reason string
	// Err is the cause, if there is one. It is no part of the text: the error of a function of an option may quote the
	// request.
	Err error
}

func (e *InvalidKeyError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %s %s", e.Operation, ErrInvalidKey, e.Source, e.Reason)
}

// Is reports whether target is [ErrInvalidKey].
func (e *InvalidKeyError) Is(target error) bool { return target == ErrInvalidKey }

func (*InvalidKeyError) outcome() report.Outcome { return report.InvalidKey }

// Unwrap returns the cause.
func (e *InvalidKeyError) Unwrap() error { return e.Err }

// StaleRequestError is the data of [ErrStaleRequest].
type StaleRequestError struct {
	Operation string
	// Source names where the timestamp was looked for, Reason says what is wrong with it, without its value.
	Source, Reason string
}

func (e *StaleRequestError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %s %s", e.Operation, ErrStaleRequest, e.Source, e.Reason)
}

// Is reports whether target is [ErrStaleRequest].
func (e *StaleRequestError) Is(target error) bool { return target == ErrStaleRequest }

func (*StaleRequestError) outcome() report.Outcome { return report.Stale }

// MissingTenantError is the data of [ErrMissingTenant].
type MissingTenantError struct {
	Operation string
	// Reason says why nothing identifies the caller.
	Reason string
}

func (e *MissingTenantError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %s", e.Operation, ErrMissingTenant, e.Reason)
}

// Is reports whether target is [ErrMissingTenant].
func (e *MissingTenantError) Is(target error) bool { return target == ErrMissingTenant }

func (*MissingTenantError) outcome() report.Outcome { return report.MissingTenant }

// MismatchError is the data of [ErrMismatch].
type MismatchError struct {
	Operation, RecordKey string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v", e.Operation, ErrMismatch)
}

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

func (*MismatchError) outcome() report.Outcome { return report.Mismatch }

// InProgressError is the data of [ErrInProgress].
type InProgressError struct {
	Operation, RecordKey string
	// RetryAfter is the time until the lease of the running execution ends. By then that execution has ended, or the
	// key can be taken over. It is never negative.
	RetryAfter time.Duration
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v", e.Operation, ErrInProgress)
}

// Is reports whether target is [ErrInProgress].
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

func (*InProgressError) outcome() report.Outcome { return report.InProgress }

// SupersededError is the data of [ErrSuperseded].
type SupersededError struct {
	Operation, RecordKey string
	// RetryAfter is the time until the lease of the other execution ends, as that of [InProgressError].
	RetryAfter time.Duration
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v", e.Operation, ErrSuperseded)
}

// Is reports whether target is [ErrSuperseded].
func (e *SupersededError) Is(target error) bool {
	return target == ErrSuperseded || target == execution.ErrMayHaveHappened
}

func (*SupersededError) outcome() report.Outcome { return report.Superseded }

// WrappedTwiceError is the data of [ErrWrappedTwice].
type WrappedTwiceError struct {
	Operation, RecordKey string
}

func (e *WrappedTwiceError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v", e.Operation, ErrWrappedTwice)
}

// Is reports whether target is [ErrWrappedTwice].
func (e *WrappedTwiceError) Is(target error) bool { return target == ErrWrappedTwice }

func (*WrappedTwiceError) outcome() report.Outcome { return report.WrappedTwice }

// UnknownOutcomeError is the data of [ErrUnknownOutcome].
type UnknownOutcomeError struct {
	Operation, RecordKey string
	// Reason says why the outcome is unknown. docs/problems.md has the list.
	Reason string
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v (%s)", e.Operation, ErrUnknownOutcome, e.Reason)
}

// Is reports whether target is [ErrUnknownOutcome].
func (e *UnknownOutcomeError) Is(target error) bool {
	return target == ErrUnknownOutcome || target == execution.ErrMayHaveHappened
}

func (*UnknownOutcomeError) outcome() report.Outcome { return report.UnknownOutcome }

// UnreadableError is the data of [ErrUnreadable].
type UnreadableError struct {
	Operation, RecordKey string
	// Reason says what is wrong, naming the attribute but never its content.
	Reason string
	// Err is the cause, if there is one.
	Err error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %s", e.Operation, ErrUnreadable, e.Reason)
}

// Is reports whether target is [ErrUnreadable].
func (e *UnreadableError) Is(target error) bool {
	return target == ErrUnreadable || target == execution.ErrMayHaveHappened
}

func (*UnreadableError) outcome() report.Outcome { return report.Unreadable }

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// StoreUnavailableError is the data of [ErrStoreUnavailable].
type StoreUnavailableError struct {
	Operation, RecordKey string
	// Err is the last error of the store, usually a *store.Error.
	Err error
}

func (e *StoreUnavailableError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %v", e.Operation, ErrStoreUnavailable, e.Err)
}

// Is reports whether target is [ErrStoreUnavailable].
func (e *StoreUnavailableError) Is(target error) bool { return target == ErrStoreUnavailable }

func (*StoreUnavailableError) outcome() report.Outcome { return report.StoreUnavailable }

// Unwrap returns the error of the store.
func (e *StoreUnavailableError) Unwrap() error { return e.Err }

// CommitFailedError is the data of [ErrCommitFailed] where a handler answered although its commit had failed, and where an HTTP handler
// returned that error.
type CommitFailedError struct {
	Operation, RecordKey string
	// Err is the error of the HTTP handler, else why the commit failed: ErrCommitFailed, or ErrLeaseLost. The events of the commits tell
	// more, see [report.Delivery.Commits].
	Err error
}

func (e *CommitFailedError) Error() string {
	return fmt.Sprintf("idempotent: %s: the commit of the handler: %v", e.Operation, e.Err)
}

// Is reports whether target is [ErrCommitFailed].
func (e *CommitFailedError) Is(target error) bool { return target == ErrCommitFailed }

func (*CommitFailedError) outcome() report.Outcome { return report.CommitFailed }

// Unwrap returns Err.
func (e *CommitFailedError) Unwrap() error { return e.Err }

// CommittedError tells the observer that a handler had committed its answer, and then did something else than return it. The committed
// answer was sent. A handler whose commit was declined, or had failed, could not know: something between the function and the store has
// sent the commit twice, and the second copy landed.
type CommittedError struct {
	Operation, RecordKey string
	// Err is the error that the handler returned, nil if it returned another answer or panicked.
	Err error
	// Panic is what it panicked with, nil if it did not. Stack is the stack of that, as runtime/debug.Stack has it.
	Panic any
	Stack []byte
}

func (e *CommittedError) Error() string {
	text := "idempotent: " + e.Operation + ": the handler had committed its answer, and "
	switch {
	case e.Panic != nil:
		return text + fmt.Sprintf("panicked: %v", e.Panic)
	case e.Err != nil:
		return text + fmt.Sprintf("returned an error: %v", e.Err)
	default:
		return text + "returned another one"
	}
}

// Unwrap returns Err.
func (e *CommittedError) Unwrap() error { return e.Err }

// RefusedError is the data of [ErrRefused].
type RefusedError struct {
	Operation string
	// Source is the option, or the function of an option, that failed on the request.
	Source string
	// Err says why. The error of a function is not shown, because it may quote the request: of it the text has only the type,
	// and errors.As finds it.
	Err error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %s: %v", e.Operation, ErrRefused, e.Source, e.Err)
}

// Is reports whether target is [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

func (*RefusedError) outcome() report.Outcome { return report.Refused }

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// quietError is the error of a function that sees the request. Its text may quote that, so it is not shown.
type quietError struct{ err error }

func quiet(err error) error {
	if err == nil {
		return nil
	}
	return &quietError{err}
}

func (e *quietError) Error() string { return "the function failed" + typeOf(e.err) }
func (e *quietError) Unwrap() error { return e.err }

// typeOf names the type of an error, unless that says nothing.
func typeOf(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if path := t.PkgPath(); path == "errors" || path == "fmt" {
		return ""
	}
	return fmt.Sprintf(", with a %T", err)
}

// Errors name the place of what they are about with these texts.
const (
	sourceHeader = "header " // and its name
	sourceEvent  = "the event"
)

// refusal is an error of this package that is the answer to a delivery: the handler was kept from running, or it ran and was
// superseded. Each one has an outcome, which the observer gets.
type refusal interface {
	error
	outcome() report.Outcome
}

// outcomeOf returns the outcome for an error. It asks only the error itself, not the errors that it wraps: the function
// of a user may have failed with an error that came from another handler.
func outcomeOf(err error) report.Outcome {
	if r, ok := err.(refusal); ok { //nolint:errorlint // see above
		return r.outcome()
	}
	return report.Refused
}
