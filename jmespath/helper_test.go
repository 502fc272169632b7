package jmespath

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// selectJSON compiles and searches, and returns the selection as JSON text.
func selectJSON(t testing.TB, source, payload string) string {
	t.Helper()
	selected, err := trySelect(source, payload)
	require.NoError(t, err, "%s on %s", source, payload)
	return string(selected.JSON())
}

// kindOf returns the kind of an Error, empty for any other error.
func kindOf(err error) string {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Kind
	}
	return ""
}

func trySelect(source, payload string) (Value, error) {
	expression, err := Compile(source)
	if err != nil {
		return Value{}, err
	}
	return expression.Search([]byte(payload))
}
