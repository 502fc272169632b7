package idempotent

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/report"
)

// Sentinels for [errors.Is]. The data of each of these errors is in an [*Error], which [errors.As]
// finds. An HTTP handler answers with a problem document instead, except for ErrDecode and
// ErrEncode. The observer gets all of them, see [WithObserver].
var (
	// ErrMissingKey is returned when a request that needs a key carries none, or only part of one.
	ErrMissingKey = errors.New("idempotency key is missing")
	// ErrInvalidKey is returned when the key of a request is malformed, or when no key or no
	// fingerprint can be made of what the request holds.
	ErrInvalidKey = errors.New("idempotency key is invalid")
	// ErrStaleRequest is returned when the timestamp of a request is missing, malformed, or outside
	// of the limits of [HTTP.MaxRequestAge]. The handler did not run.
	ErrStaleRequest = errors.New("the timestamp of the request is not accepted")
	// ErrMissingTenant is returned when [HTTP.RequireTenant] is set and the caller cannot be
	// identified. The handler did not run.
	ErrMissingTenant = errors.New("the caller is not identified")
	// ErrMismatch is returned when a key has another fingerprint now. The handler did not run.
	ErrMismatch = errors.New("idempotency key was used for another request")
	// ErrInProgress is returned when another execution holds the key. The handler did not run.
	ErrInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrSuperseded is returned when the handler, or the resolver, ran and lost its lease, and
	// another execution holds the key and answers the request. This one may have had its effect.
	ErrSuperseded = errors.New("the execution lost its lease, and another one of the request is in progress")
	// ErrWrappedTwice is returned when a delivery asks for the very record that its own caller
	// executes: the handler is wrapped twice on one store, as by a middleware, or a handler calls
	// Handle for its own request. The inner handler did not run.
	ErrWrappedTwice = errors.New("the handler is wrapped twice: its own caller holds the idempotency key")
	// ErrUnknownOutcome is returned when an effect may have happened and must not be repeated.
	ErrUnknownOutcome = execution.ErrUnknownOutcome
	// ErrUnreadable is returned when the stored record cannot be understood. The handler did not
	// run; an operator has to look at the record.
	ErrUnreadable = execution.ErrUnreadable
	// ErrStoreUnavailable is returned when the store cannot answer. The handler did not run.
	ErrStoreUnavailable = errors.New("the idempotency store is unavailable")
	// ErrRefused is returned when a function of the configuration failed, or the event is of
	// another kind. The handler did not run. ErrDecode is one, too.
	ErrRefused = errors.New("the request could not be prepared")
	// ErrDecode is returned by [Handler.Invoke] when a payload is no event: the handler did not
	// run. Unlike the errors of lambda.NewHandler it repeats nothing of the payload. errors.As
	// finds a [*json.UnmarshalTypeError] or a [*json.SyntaxError] in it that does not either. An
	// error of a decoder of the handler's own types is not shown; errors.Is still finds what it
	// wraps. Which of these it is may depend on the release of Go.
	ErrDecode error = &variant{text: "the payload is no event of the handler", of: ErrRefused}
	// ErrEncode is returned by [Handler.Invoke] when the result of a handler has no JSON form. The
	// handler ran, and its record is UNKNOWN: the effect happened, and its result is lost.
	// [Handler.Handle] returns it for an event without the JSON form that [WithKeyPath] needs.
	//
	// It repeats nothing of the value; errors.Is finds what an encoder of the handler's own types
	// failed with. A [*json.UnsupportedTypeError] and a [*json.UnsupportedValueError], which repeat
	// nothing either, are returned in its place.
	ErrEncode = errors.New("the value has no JSON form")
	// ErrLeaseLost is what a [Step] fails with if somebody else owns the record, or if the lease
	// has ended. It is also the [context.Cause] of a handler's context if the lease could not be
	// renewed, and the [report.Delivery.StoreErr] of an execution that found another owner in its
	// record. A handler that returns it has crashed: nothing is released. The answer is then the
	// result of another execution that has the record, or [ErrSuperseded].
	ErrLeaseLost = execution.ErrLeaseLost
	// ErrCommitRefused is what a commit of the handler, such as dynamo.Commit, fails with if it was
	// wrong to call it and nothing was sent. The claim stands.
	ErrCommitRefused = execution.ErrCommitRefused
	// ErrCommitFailed is what a commit of the handler fails with if the store did not take it. The
	// execution has failed, and only a [Terminal] error of it is stored. It is also returned when a
	// handler answers all the same: nothing of that answer is stored or sent. An HTTP handler that
	// returns it is answered with a problem document.
	ErrCommitFailed = execution.ErrCommitFailed
	// ErrOtherAnswer tells the observer that a handler had committed its answer, and then did
	// something else than return it. The committed answer was sent. The handler could not know if
	// its commit had failed and a second copy of it landed, sent on the way to the store.
	ErrOtherAnswer = errors.New("the handler had committed its answer")
)

// errAnswered is ErrCommitFailed where the handler answered although its commit had failed, and
// where an HTTP handler returned that error.
var errAnswered error = &variant{text: "the commit of the handler", of: ErrCommitFailed}

type variant struct {
	text string
	of   error
}

func (v *variant) Error() string { return v.text }
func (v *variant) Unwrap() error { return v.of }

// Error is an error of this package with its data. It is what [Handler.Handle] and [Handler.Invoke]
// return, what a handler gets from [Step] and from dynamo.Commit, and what the observer is told.
// Lambda reports the name of its kind as errorType, for example InProgressError.
//
// A field that a kind does not name has its zero value. The text never holds a key, a payload or a
// result. An Error is not modified once it is returned, so it is safe for concurrent use.
type Error struct {
	// Kind is the sentinel. Compare it with errors.Is: ErrDecode is ErrRefused, too.
	Kind error
	// Operation is the name of the wrapped handler. It is empty for ErrDecode and ErrEncode, and
	// outside of a protected execution for those of steps and commits.
	Operation string
	// RecordKey is the name of the record in the store. It is empty for ErrMissingKey,
	// ErrInvalidKey, ErrStaleRequest, ErrMissingTenant, ErrRefused, ErrDecode and ErrEncode, which
	// come before it is computed, and outside of a protected execution.
	RecordKey string
	// Step is the name of the [Step] that failed, as it was given; empty if none has.
	Step string
	// Field names what the error is about, without its value:
	//
	//   - ErrMissingKey, ErrInvalidKey, ErrStaleRequest: where the key or the timestamp was looked
	//     for, for example "header Idempotency-Key"
	//   - ErrRefused: the option, or the function of an option, that failed on the request
	//   - ErrDecode: the path of the value that does not fit, by the names of the fields in JSON
	//     and without indices and the names of a map's members, for example "items.amount". It is
	//     empty if the payload does not fit as a whole, is no JSON, or was refused by a decoder of
	//     the handler's own types
	//   - ErrEncode: "the result" or "the event"
	Field string
	// Offset is how many bytes of the payload were read when ErrDecode was found, as encoding/json
	// counts them; a decoder of the handler's own types may count within its value. 0: not known.
	Offset int64
	// Reason says in words what is wrong, without anything of the request, for ErrInvalidKey,
	// ErrStaleRequest, ErrMissingTenant, ErrUnknownOutcome (docs/problems.md has the list),
	// ErrUnreadable (naming the attribute), ErrDecode, ErrEncode, ErrOtherAnswer, and those of
	// steps and commits. It may be empty, and its wording may change.
	Reason string
	// RetryAfter is, for ErrInProgress and ErrSuperseded, the time until the lease of the running
	// execution ends, and never negative. By then it has ended, or the key can be taken over.
	RetryAfter time.Duration
	// Err is the cause, nil if there is none. It is part of the text for ErrStoreUnavailable,
	// ErrRefused and those of steps and commits, without what a function of the configuration said,
	// which may quote the request. For ErrOtherAnswer it is what the handler returned, or a
	// [*PanicError].
	Err error
}

func (e *Error) Error() string {
	f := execution.Fault(*e)
	switch e.Kind {
	case ErrMissingKey: //nolint:errorlint // the sentinel itself
		f.Kind = fmt.Errorf("no idempotency key in %s", e.Field)
	case ErrInvalidKey, ErrStaleRequest:
		f.Reason, f.Err = e.Field+" "+e.Reason, nil
	case ErrUnknownOutcome:
		if !f.OfStep() {
			f.Kind, f.Reason = fmt.Errorf("%w (%s)", e.Kind, e.Reason), ""
		}
	case ErrUnreadable:
		if !f.OfStep() {
			f.Err = nil
		}
	case ErrRefused:
		f.Reason = e.Field
	case ErrDecode:
		f.Reason, f.Err = e.misfit(), nil
	case ErrEncode:
		f.Kind, f.Err = fmt.Errorf("%s has no JSON form", e.Field), nil
	case ErrOtherAnswer:
		f.Kind, f.Reason, f.Err = fmt.Errorf("%w, and %s", e.Kind, e.Reason), "", nil
	}
	return f.Error()
}

func (e *Error) misfit() string {
	text := e.Reason
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Offset > 0 {
		text += fmt.Sprintf(" (byte %d)", e.Offset)
	}
	return text
}

// Is reports whether the kind of the error is target.
func (e *Error) Is(target error) bool {
	if target == execution.ErrMayHaveHappened {
		ofStep := (*execution.Fault)(e).OfStep()
		return kinds[e.Kind].happened && (e.Kind == ErrUnknownOutcome || !ofStep)
	}
	return errors.Is(e.Kind, target)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorType returns what logs, metrics and traces call the error, for example
// "idempotent.InProgressError".
func (e *Error) ErrorType() string {
	return "idempotent." + reflect.Indirect(reflect.ValueOf(e.onWire())).Type().Name()
}

// onWire returns the error as Lambda is to name it.
func (e *Error) onWire() error {
	switch name := kinds[e.Kind].name; {
	case (*execution.Fault)(e).OfStep():
		return errortype.As[errortype.StepError](e)
	case name != nil:
		return name(e)
	default:
		return e
	}
}

// PanicError is the error of a function that panicked in [Handler.Reconcile], and of a handler that
// panicked after its commit, see [ErrOtherAnswer].
type PanicError = report.PanicError

type kind struct {
	// outcome is that of a delivery which ends with it, empty if none does.
	outcome report.Outcome
	name    func(error) error
	// happened says that an effect may have happened.
	happened bool
}

var kinds = map[error]kind{
	ErrMissingKey:       {report.MissingKey, errortype.As[errortype.MissingKeyError], false},
	ErrInvalidKey:       {report.InvalidKey, errortype.As[errortype.InvalidKeyError], false},
	ErrStaleRequest:     {report.Stale, errortype.As[errortype.StaleRequestError], false},
	ErrMissingTenant:    {report.MissingTenant, errortype.As[errortype.MissingTenantError], false},
	ErrMismatch:         {report.Mismatch, errortype.As[errortype.MismatchError], false},
	ErrInProgress:       {report.InProgress, errortype.As[errortype.InProgressError], false},
	ErrSuperseded:       {report.Superseded, errortype.As[errortype.SupersededError], true},
	ErrWrappedTwice:     {report.WrappedTwice, errortype.As[errortype.WrappedTwiceError], false},
	ErrUnknownOutcome:   {report.UnknownOutcome, errortype.As[errortype.UnknownOutcomeError], true},
	ErrUnreadable:       {report.Unreadable, errortype.As[errortype.UnreadableError], true},
	ErrStoreUnavailable: {report.StoreUnavailable, errortype.As[errortype.StoreUnavailableError], false},
	errAnswered:         {report.CommitFailed, errortype.As[errortype.CommitFailedError], false},
	ErrRefused:          {report.Refused, errortype.As[errortype.RefusedError], false},
	ErrDecode:           {report.Refused, errortype.As[errortype.DecodeError], false},
	ErrEncode:           {report.Refused, errortype.As[errortype.EncodeError], false},
	ErrOtherAnswer:      {name: errortype.As[errortype.CommittedError]},
	ErrCommitRefused:    {name: errortype.As[errortype.CommitError]},
	ErrCommitFailed:     {name: errortype.As[errortype.CommitError]},
	ErrLeaseLost:        {name: errortype.As[errortype.CommitError]},
}

func sentinelOf(outcome report.Outcome) error {
	for sentinel, k := range kinds {
		if k.outcome == outcome {
			return sentinel
		}
	}
	return ErrStoreUnavailable
}

// quietError is the error of a function that sees the request, which its text may quote.
type quietError struct{ err error }

func (e *quietError) Error() string { return "the function failed" + typeOf(e.err) }
func (e *quietError) Unwrap() error { return e.err }

// typeOf names the type of an error, unless that says nothing.
func typeOf(err error) string {
	if path := gateway.ElemOf(reflect.TypeOf(err)).PkgPath(); path == "errors" || path == "fmt" {
		return ""
	}
	return fmt.Sprintf(", with a %T", err)
}

// Errors name the place of what they are about with these texts.
const (
	sourceHeader      = "header " // and its name
	sourceEvent       = "the event"
	sourceKeyPath     = "the selection of WithKeyPath"
	sourceFingerprint = "the selection of WithFingerprintPath"
	optionTenant      = "WithTenant"
	optionFingerprint = "WithFingerprint" // the function, not the path
)
