package observe

import (
	"errors"
	"reflect"
	"strings"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// storeFailure says what failed in the store: a kind, or else the type of an error; empty if nothing did.
func storeFailure(e *idempotent.Event) string {
	err := e.StoreErr
	if err == nil && e.Outcome == idempotent.OutcomeStoreUnavailable {
		err = e.Err
	}
	if failed, ok := errors.AsType[*store.Error](err); ok {
		return string(failed.Kind)
	}
	if errors.Is(err, idempotent.ErrLeaseLost) {
		return "lease lost"
	}
	return errorType(err)
}

// errorType names the first exported type on the way to the cause of an error, for example payments.DeclinedError; wrapping
// by fmt.Errorf, errors.Join or a mark does not count. Without one it is the type of the cause; empty for no error.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	for {
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
