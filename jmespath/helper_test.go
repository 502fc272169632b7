package jmespath

import (
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

func trySelect(source, payload string) (Value, error) {
	expression, err := Compile(source)
	if err != nil {
		return Value{}, err
	}
	return expression.Search([]byte(payload))
}
