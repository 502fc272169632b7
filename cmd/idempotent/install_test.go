package main_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	library = "github.com/go-idempotent/idempotent"
	// version is the one of the library that go.mod names.
	version = "v0.1.0"
)

// Whoever has no clone of the repository installs the command from a proxy: go install refuses a
// go.mod with replacements, and takes the library in the version that it names. That it names every
// module that is needed, .ci/tidy checks.
func TestItCanBeInstalledFromAProxy(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	require.NoError(t, err)
	var mod struct {
		Module           struct{ Path string }
		Require          []struct{ Path, Version string }
		Replace, Exclude []any
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	assert.Equal(t, library+"/cmd/idempotent", mod.Module.Path)
	assert.Empty(t, mod.Replace)
	assert.Empty(t, mod.Exclude)
	assert.Contains(t, mod.Require, struct{ Path, Version string }{library, version})
}
