// Package errortype has the names by which Lambda, and so Step Functions, knows errors of package
// idempotent: it reports the Go type of an error as errorType, by which retries and catches choose.
package errortype

import (
	"errors"
	"reflect"
	"strings"
)

// namedError is an error under another name. Text and errors.Is are those of the error.
type namedError struct{ error }

func (e namedError) Unwrap() error { return e.error }

type (
	CommitError           struct{ namedError }
	CommitFailedError     struct{ namedError }
	CommittedError        struct{ namedError }
	DecodeError           struct{ namedError }
	EncodeError           struct{ namedError }
	InProgressError       struct{ namedError }
	InvalidKeyError       struct{ namedError }
	MismatchError         struct{ namedError }
	MissingKeyError       struct{ namedError }
	MissingTenantError    struct{ namedError }
	RefusedError          struct{ namedError }
	StaleRequestError     struct{ namedError }
	StepError             struct{ namedError }
	StoreUnavailableError struct{ namedError }
	SupersededError       struct{ namedError }
	UnknownOutcomeError   struct{ namedError }
	UnreadableError       struct{ namedError }
	WrappedTwiceError     struct{ namedError }
)

// As gives an error the name of a type.
func As[T interface {
	~struct{ namedError }
	error
}](err error) error {
	return T{namedError{err}}
}

// Of names the first exported type on the way to the cause of an error, for example
// payments.DeclinedError; wrapping by fmt.Errorf, errors.Join or a mark does not count. An error
// with a method ErrorType names itself. Without either it is the type of the cause; empty for no
// error.
func Of(err error) string {
	if err == nil {
		return ""
	}
	for {
		if named, ok := err.(interface{ ErrorType() string }); ok {
			return named.ErrorType()
		}
		t := reflect.TypeOf(err)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		cause := unwrap(err)
		if name := t.Name(); cause == nil || name != "" && strings.ToUpper(name[:1]) == name[:1] {
			return t.String()
		}
		err = cause
	}
}

// unwrap is the first error that err wraps.
func unwrap(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return errors.Unwrap(err)
	}
	for _, one := range joined.Unwrap() {
		if one != nil {
			return one
		}
	}
	return nil
}
