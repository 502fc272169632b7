package operate

import (
	"errors"
	"fmt"
	"time"
)

// What refuses something is an [*Error] of one of these kinds. Errors of the store come wrapped.
var (
	// ErrNotFound is returned when there is no record under the key.
	ErrNotFound = errors.New("operate: there is no record under this key")
	// ErrChanged is returned when the record is not the one that was shown.
	ErrChanged = errors.New("operate: the record has changed since it was shown")
	// ErrLive is returned when an execution holds the record: its lease is live.
	ErrLive = errors.New("operate: an execution holds the record")
	// ErrForeign is returned when what was asked cannot be done safely: AWS Powertools wrote the
	// record, or shares it, or it is not certain that the item is a record of this module.
	ErrForeign = errors.New("operate: the record belongs to AWS Powertools")
	// ErrOtherOperation is returned when the record is not of the operation of the [Act].
	ErrOtherOperation = errors.New("operate: the record belongs to another operation")
	// ErrState is returned when what was asked makes no sense in the state of the record.
	ErrState = errors.New("operate: the record is in another state")
	// ErrStep is returned when what was asked makes no sense for the step.
	ErrStep = errors.New("operate: the step is another one")
	// ErrInput is returned when an argument is bad, before anything is read or written.
	ErrInput = errors.New("operate: bad input")
	// ErrOutcomeUnknown is returned when neither the store nor a look at the record told whether a
	// change was applied. Inspect the record again: if so, its SettledBy and SettledAt are those of
	// the change.
	ErrOutcomeUnknown = errors.New("operate: whether the change was applied is not known")
	// ErrNeedsScan is returned when there is no index of records with attention, or it lacks what a
	// query asks for, and [Query.Scan] does not allow to read all records of the store.
	ErrNeedsScan = errors.New("operate: the listing has to read every record of the store")
)

// Error says why something was refused. Nothing was changed. Its zero value means nothing.
type Error struct {
	// Kind is which of the errors above it is, for errors.Is.
	Kind error
	// Field names the argument that is bad, of [ErrInput]: "by", "why", "key", "result", … Problem
	// says what is wrong with it, and does not quote results.
	Field, Problem string
	State          State     // of the record, of [ErrState]
	Until          time.Time // the end of the lease, of [ErrLive]
	// Now is the record as it is now, of [ErrChanged], nil if there is none any more.
	Now *Shown

	text string
}

func (e *Error) Error() string { return e.text }

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

func refusal(kind error, text string, args ...any) *Error {
	return &Error{Kind: kind, text: fmt.Sprintf(text, args...) + "; nothing was changed"}
}

func bad(field, problem string, args ...any) error {
	problem = fmt.Sprintf(problem, args...)
	return &Error{Kind: ErrInput, Field: field, Problem: problem, text: "operate: " + field + " " + problem}
}

func inState(action Action, state State) error {
	e := refusal(ErrState, "operate: cannot %s: the record is %s", action, state)
	e.State = state
	return e
}
