// Package configtest is for tests of constructors, which panic with all that they find wrong.
package configtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

// ProblemsOf calls a constructor, and returns what it says is wrong.
func ProblemsOf(t testing.TB, construct func()) (problems []string) {
	t.Helper()
	defer func() {
		t.Helper()
		wrong, is := recover().(*store.ConfigError)
		require.True(t, is, "it panics with a *store.ConfigError")
		problems = wrong.Problems
	}()
	construct()
	return nil
}
