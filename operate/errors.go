package operate

import (
	"errors"
	"fmt"
	"time"
)

// The errors of an operator. Those of the store come wrapped, see package store.
var (
	// ErrNotFound is returned when there is no record under the key.
	ErrNotFound = errors.New("operate: there is no record under this key")
	// ErrChanged is what a [*ChangedError] is: the record is not the one that was shown.
	ErrChanged = errors.New("operate: the record has changed since it was shown")
	// ErrLive is what a [*LiveError] is: the lease of the record is live.
	ErrLive = errors.New("operate: an execution holds the record")
	// ErrForeign is returned when AWS Powertools wrote the record, or shares it, and what was asked
	// cannot be done safely; and when it is not certain that an item is a record of this module.
	ErrForeign = errors.New("operate: the record belongs to AWS Powertools")
	// ErrOtherOperation is returned when the record belongs to another operation than the one that
	// was named.
	ErrOtherOperation = errors.New("operate: the record belongs to another operation")
	// ErrState is what a [*StateError] is: what was asked makes no sense in the state of the
	// record.
	ErrState = errors.New("operate: the record is in another state")
	// ErrStep is what a [*StepError] is: what was asked makes no sense for the step.
	ErrStep = errors.New("operate: the step is another one")
	// ErrInput is what an [*InputError] is.
	ErrInput = errors.New("operate: bad input")
	// ErrOutcomeUnknown is returned when the store did not say whether a change was applied, and a
	// look at the record did not tell either. Inspect the record again: if the change was applied,
	// its SettledBy and SettledAt are those of the change.
	ErrOutcomeUnknown = errors.New("operate: whether the change was applied is not known")
	// ErrNeedsScan is returned when a listing would have to read all records of the store, and
	// [Query.Scan] does not allow it: there is no index of records with attention, or it does not
	// know what the query asks for.
	ErrNeedsScan = errors.New("operate: the listing has to read every record of the store")
)

// ChangedError is returned when the record is not the one that was shown. Nothing was changed. It
// is [ErrChanged].
type ChangedError struct {
	// Shown is the record as it is now, to be looked at and, perhaps, acted on. If Gone is true
	// there is none.
	Shown Shown
	Gone  bool
}

func (e *ChangedError) Error() string {
	if e.Gone {
		return ErrChanged.Error() + ": it is gone; nothing was changed"
	}
	return fmt.Sprintf("%v: it is %s now; nothing was changed", ErrChanged, e.Shown.State)
}

// Is reports whether target is [ErrChanged].
func (e *ChangedError) Is(target error) bool { return target == ErrChanged }

// LiveError is returned when an execution holds the record. Nothing was changed. It is [ErrLive].
type LiveError struct {
	// Until is the end of the lease.
	Until time.Time
}

func (e *LiveError) Error() string {
	return fmt.Sprintf("%v until %s; nothing was changed", ErrLive, e.Until.Format(time.RFC3339))
}

// Is reports whether target is [ErrLive].
func (e *LiveError) Is(target error) bool { return target == ErrLive }

// StateError is returned when what was asked makes no sense in the state of the record. Nothing was
// changed. It is [ErrState].
type StateError struct {
	// Action is what was asked, State is what the record is.
	Action Action
	State  State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("operate: cannot %s: the record is %s; nothing was changed", e.Action, e.State)
}

// Is reports whether target is [ErrState].
func (e *StateError) Is(target error) bool { return target == ErrState }

// InputError is returned when an argument is bad, before anything is read or written. It is
// [ErrInput].
type InputError struct {
	// Field names the argument: "by", "why", "key", "result", …
	Field string
	// Problem says what is wrong. It does not quote results.
	Problem string
}

func (e *InputError) Error() string { return fmt.Sprintf("operate: %s %s", e.Field, e.Problem) }

// Is reports whether target is [ErrInput].
func (e *InputError) Is(target error) bool { return target == ErrInput }
