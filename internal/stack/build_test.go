package stack_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests are about what `sam build` makes, so they need one: .ci/template runs them.

// buildsVariable names a folder with the folders arm64 and x86_64, the builds for either.
const buildsVariable = "IDEMPOTENT_SAM_BUILDS"

// built is the binary in the build for an architecture, as AWS calls it.
func built(t *testing.T, architecture string) string {
	t.Helper()
	builds := os.Getenv(buildsVariable)
	if builds == "" {
		t.Skip("it needs a build of SAM: `make template` makes one and runs this test")
	}
	return filepath.Join(builds, architecture, "ChargeFunction", "bootstrap")
}

func TestTheBuildIsStaticAndForItsArchitecture(t *testing.T) {
	t.Parallel()
	for architecture, machine := range map[string]elf.Machine{"arm64": elf.EM_AARCH64, "x86_64": elf.EM_X86_64} {
		f, err := elf.Open(built(t, architecture))
		require.NoError(t, err)
		require.Equal(t, machine, f.Machine)
		libraries, err := f.ImportedLibraries()
		require.NoError(t, err)
		require.Empty(t, libraries)
		for _, p := range f.Progs {
			require.NotEqual(t, elf.PT_INTERP, p.Type, "it needs a dynamic linker")
		}
		require.NoError(t, f.Close())
	}
}

// TestTheBuildIsReproducible builds a copy of the module in another place, later.
func TestTheBuildIsReproducible(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(built(t, "arm64"))
	require.NoError(t, err)
	module := filepath.Join(t.TempDir(), "another", "place")
	list, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	require.NoError(t, err)
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // deleted, but not yet committed
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(module, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(module, name), content, 0o600))
	}
	artifacts := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "-s", "build-ChargeFunction")
	cmd.Dir, cmd.Env = module, append(os.Environ(), "ARTIFACTS_DIR="+artifacts, "ARCHITECTURE=arm64")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	got, err := os.ReadFile(filepath.Join(artifacts, "bootstrap"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "the builds differ")
}
