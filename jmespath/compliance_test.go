package jmespath

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jmespath/go-jmespath" // carries the official compliance suite
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// complianceCases is the size of the suite in the version that go.mod names.
const complianceCases = 862

type complianceGroup struct {
	Given json.RawMessage
	Cases []struct {
		Expression string
		Result     json.RawMessage
		Error      string
	}
}

func TestOfficialComplianceSuitePassesCompletely(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(moduleDir(t, "github.com/jmespath/go-jmespath"), "compliance", "*.json"))
	require.NoError(t, err)
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var groups []complianceGroup
		require.NoError(t, json.Unmarshal(text, &groups), file)
		for _, group := range groups {
			for _, c := range group.Cases {
				ran++
				where := filepath.Base(file) + ": " + c.Expression
				if c.Error != "" {
					assertComplianceError(t, c.Expression, group.Given, c.Error, where)
					continue
				}
				expression, err := Compile(c.Expression)
				if !assert.NoError(t, err, where) {
					continue
				}
				selected, err := expression.Search(group.Given)
				if assert.NoError(t, err, where) {
					assertEqualJSON(t, string(c.Result), selected, where)
				}
			}
		}
	}
	assert.Equal(t, complianceCases, ran, "cases of the suite")
}

// assertComplianceError accepts the error from either step. All but type errors
// that depend on the payload must already come from Compile.
func assertComplianceError(t *testing.T, source string, given []byte, kind, where string) {
	t.Helper()
	expression, err := Compile(source)
	if err == nil {
		assert.Equal(t, errInvalidType, kind, "%s must not compile", where)
		_, err = expression.Search(given)
	}
	assert.Equal(t, kind, kindOf(err), "%s: %v", where, err)
}

// assertEqualJSON compares by content, with the equality of the language itself,
// which tests of its own cover.
func assertEqualJSON(t *testing.T, want string, got Value, context ...any) {
	t.Helper()
	wanted, err := parseText(want)
	require.NoError(t, err, context...)
	_, err = parseText(string(got.JSON()))
	require.NoError(t, err, context...)
	equal, err := newSearch(wanted).equal(wanted, got)
	require.NoError(t, err, context...)
	if !equal {
		assert.Equal(t, want, string(got.JSON()), context...)
	}
}

// moduleDir returns where the module cache has a module.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err, "the compliance suite comes with the module %s", module)
	return strings.TrimSpace(string(out))
}
