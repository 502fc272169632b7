package execution

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/go-idempotent/idempotent/report"
)

// Sentinels of errors that the protocol tells, by the names that package idempotent gives them.
var (
	ErrLeaseLost      = errors.New("the lease of the idempotency key was lost")
	ErrUnknownOutcome = errors.New("the outcome of the request with this idempotency key is unknown")
	ErrUnreadable     = errors.New("the idempotency record cannot be read")
	ErrStepRefused    = errors.New("the step was not begun")
	ErrStepLost       = errors.New("the result of the step is not recorded")
	ErrCommitRefused  = errors.New("the commit was not begun")
	ErrCommitFailed   = errors.New("the commit failed")
)

// Fault is why a step has no outcome, or a commit has not happened. Its fields are those of Error
// of package idempotent, which documents them and is made of it by conversion.
type Fault struct { //nolint:errname // its documented form is called Error
	Kind                       error
	Operation, RecordKey, Step string
	Field                      string
	Offset                     int64
	Reason                     string
	RetryAfter                 time.Duration
	Err                        error
}

func (f *Fault) Error() string {
	text := "idempotent: "
	if f.Operation != "" {
		text += f.Operation + ": "
	}
	if f.OfStep() {
		text += fmt.Sprintf("step %.80q: ", f.Step)
	}
	text += fmt.Sprint(f.Kind)
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	if f.Err != nil && !errors.Is(f.Kind, ErrLeaseLost) {
		text += fmt.Sprintf(": %v", f.Err)
	}
	return text
}

// OfStep reports whether a step has failed, also one without a name.
func (f *Fault) OfStep() bool {
	return f.Step != "" || errors.Is(f.Kind, ErrStepRefused) || errors.Is(f.Kind, ErrStepLost)
}

// Is reports whether the kind of the fault is target.
func (f *Fault) Is(target error) bool { return errors.Is(f.Kind, target) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// As finds the documented error, which has the same fields, where nobody has made one: in a test of
// a handler, and outside of any delivery.
func (f *Fault) As(target any) bool {
	as, fault := reflect.ValueOf(target).Elem(), reflect.ValueOf(f)
	if as.Kind() != reflect.Pointer || !fault.CanConvert(as.Type()) {
		return false
	}
	as.Set(fault.Convert(as.Type()))
	return true
}

// Guarded calls f in a goroutine of its own, and returns its error, or a [*report.PanicError] if it
// panics or ends its goroutine.
func Guarded(f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if value := recover(); !returned {
				err = &report.PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		err = f()
		returned = true
	}()
	<-done
	return err
}
