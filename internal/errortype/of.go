package errortype

import (
	"errors"
	"reflect"
	"strings"
)

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
