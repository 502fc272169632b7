package store

import (
	"errors"
	"fmt"
	"strings"
)

// Failure tells the failures of a store apart.
type Failure string

// The kinds of failure. The core retries those that may pass within its budget; the others end a
// call at once.
const (
	// FailureThrottled: the store refused the call for lack of capacity. May pass.
	FailureThrottled Failure = "throttled"
	// FailureConflict: another writer of the same item was at work (a transaction, a replica). May
	// pass.
	FailureConflict Failure = "conflict"
	// FailureTimeout: no answer came in time. May pass.
	FailureTimeout Failure = "timeout"
	// FailureUnavailable: the network or the service failed. May pass.
	FailureUnavailable Failure = "unavailable"
	// FailureAccessDenied: the caller lacks the permission, or its credentials cannot be used.
	FailureAccessDenied Failure = "access denied"
	// FailureMissingTable: the table does not exist in this account and Region.
	FailureMissingTable Failure = "missing table"
	// FailureTooLarge: the record is larger than the store can hold.
	FailureTooLarge Failure = "too large"
	// FailureRejected: the store refused the call as invalid, for example because the table's key
	// is another one.
	FailureRejected Failure = "rejected"
)

// Throttle is what lacked capacity where a call was throttled.
type Throttle string

// What lacks capacity. Each has another remedy.
const (
	// ThrottledKey: one key, or its neighbours, get more requests than a partition serves.
	ThrottledKey Throttle = "hot key"
	// ThrottledTable: the capacity of the table, or of its index, or the bound that was set for it.
	ThrottledTable Throttle = "table"
	// ThrottledAccount: the quota of the account in this Region.
	ThrottledAccount Throttle = "account"
)

// MayPass reports whether repeating a call that failed with err can help. A failure of a kind that
// is not known here is not repeated.
func MayPass(err error) bool {
	if _, unreadable := errors.AsType[*UnreadableError](err); unreadable {
		return false
	}
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return true
	}
	switch failed.Kind {
	case FailureThrottled, FailureConflict, FailureTimeout, FailureUnavailable:
		return true
	default:
		return false
	}
}

// Error is how a [Store] reports that a call failed.
type Error struct {
	// Op is the call: "claim", "swap", "commit", "apply", "delete", "get", "read result", "check".
	Op string
	// Kind tells why it failed.
	Kind Failure
	// Throttle says what lacked capacity. It is empty unless Kind is FailureThrottled, and where
	// the store does not say.
	Throttle Throttle
	// NotApplied is true only if it is certain that no attempt of the write was or will be applied.
	NotApplied bool
	// Err is the cause.
	Err error
}

func (e *Error) Error() string {
	kind := string(e.Kind)
	if e.Throttle != "" {
		kind += fmt.Sprintf(" (%s)", e.Throttle)
	}
	return fmt.Sprintf("store: %s: %s: %v", e.Op, kind, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// UnreadableError is how a [Store] reports that a record is there but cannot be understood.
type UnreadableError struct {
	// Reason says what is wrong, naming the attribute but never its content.
	Reason string
	// Err is the cause, if there is one.
	Err error
}

func (e *UnreadableError) Error() string {
	return "store: the idempotency record cannot be read: " + e.Reason
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// ConfigError reports everything that is wrong with a configuration: of a handler, of an observer,
// of a store or of its table.
type ConfigError struct {
	// Problems are complete sentences without a full stop, each naming the option or field and the
	// bad value.
	Problems []string
}

func (e *ConfigError) Error() string {
	return "idempotent: configuration: " + strings.Join(e.Problems, "; ")
}
