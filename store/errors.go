package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Failure tells the failures of a store apart.
type Failure string

// The kinds of failure. The core repeats a call that failed with one of the first four, within its
// budget; the others end a call at once.
const (
	FailureThrottled    Failure = "throttled"     // the store lacked capacity
	FailureConflict     Failure = "conflict"      // a transaction or a replica wrote the same item
	FailureTimeout      Failure = "timeout"       // no answer came in time
	FailureUnavailable  Failure = "unavailable"   // the network or the service failed
	FailureAccessDenied Failure = "access denied" // no permission, or unusable credentials
	FailureMissingTable Failure = "missing table" // not in this account and Region
	FailureTooLarge     Failure = "too large"     // the store cannot hold a record of this size
	FailureRejected     Failure = "rejected"      // an invalid call, say for a table with another key
)

// Throttle is what lacked capacity where a call was throttled.
type Throttle string

// The capacities that are missing. Each has another remedy.
const (
	ThrottledKey     Throttle = "hot key" // that of a partition, by one key or its neighbours
	ThrottledTable   Throttle = "table"   // that of the table or of its index, or a bound set for it
	ThrottledAccount Throttle = "account" // the quota of the account in this Region
)

// MayPass reports whether repeating a call that failed with err can help. A failure of a kind that
// is not known here is not repeated.
func MayPass(err error) bool {
	if _, unreadable := errors.AsType[*UnreadableError](err); unreadable {
		return false
	}
	passing := []Failure{FailureThrottled, FailureConflict, FailureTimeout, FailureUnavailable}
	failed, ok := errors.AsType[*Error](err)
	return !ok || slices.Contains(passing, failed.Kind)
}

// Error is how a [Store] reports that a call failed.
type Error struct {
	// Op is the call: "claim", "swap", "commit", "apply", "delete", "get", "read result", "check".
	Op   string
	Kind Failure // why it failed
	// Throttle is empty unless Kind is FailureThrottled, and where the store does not say.
	Throttle Throttle
	// NotApplied is true only if no attempt of the write was or will be applied.
	NotApplied bool
	Err        error // the cause
}

func (e *Error) Error() string {
	kind := string(e.Kind)
	if e.Throttle != "" {
		kind += fmt.Sprintf(" (%s)", e.Throttle)
	}
	return fmt.Sprintf("store: %s: %s: %v", e.Op, kind, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

func lacks(s Store, what error, op string) error {
	return &Error{Op: op, Kind: FailureRejected, NotApplied: true, Err: fmt.Errorf("%w: it is a %T", what, s)}
}

// UnreadableError is how a [Store] reports that a record is there but cannot be understood.
type UnreadableError struct {
	// Reason says what is wrong, naming the attribute but never its content.
	Reason string
	Err    error // the cause, if there is one
}

func (e *UnreadableError) Error() string {
	return "store: the idempotency record cannot be read: " + e.Reason
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// ConfigError reports everything that is wrong with a configuration, of a store or of what uses it.
type ConfigError struct {
	// Problems are complete sentences without a full stop, each naming the option or field and the
	// bad value.
	Problems []string
}

func (e *ConfigError) Error() string {
	return "idempotent: configuration: " + strings.Join(e.Problems, "; ")
}
