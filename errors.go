package idempotent

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Sentinels for [errors.Is]. Each but the last has a struct that carries its data, returned as a pointer and found by
// [errors.As]. On HTTP handlers these are answered as problem documents and never returned as errors; the observer gets
// them all the same, see [WithObserver].
var (
	// ErrMissingKey is returned when a request that needs a key carries none, or only part of one.
	ErrMissingKey = errors.New("idempotency key is missing")
	// ErrInvalidKey is returned when a request carries a key that is malformed, or something that a key or a fingerprint
	// cannot be made of.
	ErrInvalidKey = errors.New("idempotency key is invalid")
	// ErrStaleRequest is returned when a request has no timestamp, a malformed one, or one outside of the limits, see
	// [HTTP]. The handler did not run.
	ErrStaleRequest = errors.New("the timestamp of the request is not accepted")
	// ErrMissingTenant is returned when [HTTP.RequireTenant] is set and the caller cannot be identified. The handler did not
	// run.
	ErrMissingTenant = errors.New("the caller is not identified")
	// ErrMismatch is returned when a key comes back with another fingerprint. The handler did not run.
	ErrMismatch = errors.New("idempotency key was used for another request")
	// ErrInProgress is returned when another execution holds the key. The handler did not run.
	ErrInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrUnknownOutcome is returned when an earlier execution may have had its effect and must not be repeated.
	ErrUnknownOutcome = errors.New("the outcome of the request with this idempotency key is unknown")
	// ErrUnreadable is returned when the stored record cannot be understood. The handler did not run; an operator has
	// to look at the record.
	ErrUnreadable = errors.New("the idempotency record cannot be read")
	// ErrStoreUnavailable is returned when the store cannot answer. The handler did not run.
	ErrStoreUnavailable = errors.New("the idempotency store is unavailable")
	// ErrRefused is returned when a request cannot be judged: a function of the configuration failed on it, or it is no
	// event of the handler's kind. The handler did not run.
	ErrRefused = errors.New("the request cannot be judged")
	// ErrLeaseLost is never returned. It is the [context.Cause] of a handler's context whose lease could not be renewed, and
	// the [Event.StoreErr] of an execution that found its record owned by someone else.
	ErrLeaseLost = errors.New("the lease of the idempotency key was lost")
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

// InvalidKeyError is the data of [ErrInvalidKey].
type InvalidKeyError struct {
	Operation string
	// Source names where the key was found, Reason says what is wrong with it. Neither holds the key.
	Source, Reason string
	// Err is the cause, if there is one.
	Err error
}

func (e *InvalidKeyError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %s %s", e.Operation, ErrInvalidKey, e.Source, e.Reason)
}

// Is reports whether target is [ErrInvalidKey].
func (e *InvalidKeyError) Is(target error) bool { return target == ErrInvalidKey }

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

// MissingTenantError is the data of [ErrMissingTenant].
type MissingTenantError struct {
	Operation string
}

func (e *MissingTenantError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v", e.Operation, ErrMissingTenant)
}

// Is reports whether target is [ErrMissingTenant].
func (e *MissingTenantError) Is(target error) bool { return target == ErrMissingTenant }

// MismatchError is the data of [ErrMismatch].
type MismatchError struct {
	Operation, RecordKey string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v", e.Operation, ErrMismatch)
}

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

// InProgressError is the data of [ErrInProgress].
type InProgressError struct {
	Operation, RecordKey string
	// RetryAfter is the time until the lease of the running execution ends: by then the key is either settled or free to
	// be taken over. It is never negative.
	RetryAfter time.Duration
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v", e.Operation, ErrInProgress)
}

// Is reports whether target is [ErrInProgress].
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// UnknownOutcomeError is the data of [ErrUnknownOutcome].
type UnknownOutcomeError struct {
	Operation, RecordKey string
	// Reason is the [Record.Reason] of the record.
	Reason string
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v (%s)", e.Operation, ErrUnknownOutcome, e.Reason)
}

// Is reports whether target is [ErrUnknownOutcome].
func (e *UnknownOutcomeError) Is(target error) bool { return target == ErrUnknownOutcome }

// UnreadableError is the data of [ErrUnreadable]. Stores return it with Reason and Err; the core adds the rest.
type UnreadableError struct {
	Operation, RecordKey string
	// Reason says what is wrong, naming the attribute but never its content.
	Reason string
	// Err is the cause, if there is one.
	Err error
}

func (e *UnreadableError) Error() string {
	return prefixed(e.Operation, fmt.Sprintf("%v: %s", ErrUnreadable, e.Reason))
}

// Is reports whether target is [ErrUnreadable].
func (e *UnreadableError) Is(target error) bool { return target == ErrUnreadable }

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// StoreUnavailableError is the data of [ErrStoreUnavailable].
type StoreUnavailableError struct {
	Operation, RecordKey string
	// Err is the last error of the store, usually a [*StoreError].
	Err error
}

func (e *StoreUnavailableError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %v", e.Operation, ErrStoreUnavailable, e.Err)
}

// Is reports whether target is [ErrStoreUnavailable].
func (e *StoreUnavailableError) Is(target error) bool { return target == ErrStoreUnavailable }

// Unwrap returns the error of the store.
func (e *StoreUnavailableError) Unwrap() error { return e.Err }

// RefusedError is the data of [ErrRefused].
type RefusedError struct {
	Operation string
	// Source is the option that could not judge the request.
	Source string
	// Err is why, usually the error of the option's function.
	Err error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("idempotent: %s: %v: %s: %v", e.Operation, ErrRefused, e.Source, e.Err)
}

// Is reports whether target is [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

var errNoTenant = errors.New("it returned no tenant")

// StoreFailure tells the failures of a store apart.
type StoreFailure string

// The kinds of failure. The core retries those that may pass within its budget; the others end a call at once.
const (
	// FailureThrottled: the store refused the call for lack of capacity. May pass.
	FailureThrottled StoreFailure = "throttled"
	// FailureConflict: another writer of the same item was at work (a transaction, a replica). May pass.
	FailureConflict StoreFailure = "conflict"
	// FailureTimeout: no answer came in time. May pass.
	FailureTimeout StoreFailure = "timeout"
	// FailureUnavailable: the network or the service failed. May pass.
	FailureUnavailable StoreFailure = "unavailable"
	// FailureAccessDenied: the caller lacks the permission, or its credentials cannot be used.
	FailureAccessDenied StoreFailure = "access denied"
	// FailureMissingTable: the table does not exist in this account and Region.
	FailureMissingTable StoreFailure = "missing table"
	// FailureTooLarge: the record is larger than the store can hold.
	FailureTooLarge StoreFailure = "too large"
	// FailureRejected: the store refused the call as invalid, for example because the table's key is another one.
	FailureRejected StoreFailure = "rejected"
)

// StoreError is how a [Store] reports that a call failed.
type StoreError struct {
	// Op is the call: "claim", "swap", "delete", "get", "read result", "check".
	Op string
	// Kind tells why it failed.
	Kind StoreFailure
	// NotApplied is true only if it is certain that no attempt of the write was or will be applied.
	NotApplied bool
	// Err is the cause.
	Err error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("store: %s: %s: %v", e.Op, e.Kind, e.Err)
}

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// mayPass reports whether repeating the call can help.
func mayPass(err error) bool {
	if errors.Is(err, ErrUnreadable) {
		return false
	}
	se, ok := errors.AsType[*StoreError](err)
	if !ok {
		return true
	}
	switch se.Kind {
	case FailureAccessDenied, FailureMissingTable, FailureTooLarge, FailureRejected:
		return false
	default:
		return true
	}
}

// mayBeApplied reports whether a write that returned err can have been applied all the same. A record that cannot be
// read has refused it: our own could be read.
func mayBeApplied(err error) bool {
	if errors.Is(err, ErrUnreadable) {
		return false
	}
	se, ok := errors.AsType[*StoreError](err)
	return !ok || !se.NotApplied
}

// timedOut reports whether a call ended without an answer.
func timedOut(err error) bool {
	se, ok := errors.AsType[*StoreError](err)
	return ok && se.Kind == FailureTimeout
}

// ConfigError reports everything that is wrong with the configuration of a handler or a store.
type ConfigError struct {
	// Problems are complete sentences without a full stop, each naming the option or field and the bad value.
	Problems []string
}

func (e *ConfigError) Error() string {
	return "idempotent: configuration: " + strings.Join(e.Problems, "; ")
}

func prefixed(operation, text string) string {
	if operation == "" {
		return "idempotent: " + text
	}
	return "idempotent: " + operation + ": " + text
}
