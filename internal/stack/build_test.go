package stack_test

import (
	"bytes"
	"debug/elf"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests are about what `sam build` makes, so they need one: .ci/template runs them.

// buildsVariable names a folder with the folders arm64 and x86_64, the builds for either.
const buildsVariable = "IDEMPOTENT_SAM_BUILDS"

// functions are those that SAM builds.
var functions = []string{"ChargeFunction", "OrdersFunction", "RelayFunction", "DrainFunction", "ShippingFunction", "AttentionFunction", "ReconcileFunction", "StripeFunction", "SweepFunction"}

// built is the binary of a function in the build for an architecture, as AWS calls it.
func built(t *testing.T, function, architecture string) string {
	t.Helper()
	builds := os.Getenv(buildsVariable)
	if builds == "" {
		t.Skip("it needs a build of SAM: `make template` makes one and runs this test")
	}
	return filepath.Join(builds, architecture, function, "bootstrap")
}

func TestTheBuildIsStaticAndForItsArchitecture(t *testing.T) {
	t.Parallel()
	for architecture, machine := range map[string]elf.Machine{"arm64": elf.EM_AARCH64, "x86_64": elf.EM_X86_64} {
		for _, function := range functions {
			f, err := elf.Open(built(t, function, architecture))
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
}

func TestEveryFunctionOfTheTemplateIsBuilt(t *testing.T) {
	t.Parallel()
	all := deployed(t, variants["shipping"]).Of("AWS::Serverless::Function")
	maps.Copy(all, deployed(t, variants["reconciled"]).Of("AWS::Serverless::Function"))
	require.ElementsMatch(t, functions, slices.Collect(maps.Keys(all)))
}

// TestTheBuildIsReproducible builds a copy of the module in another place, later.
func TestTheBuildIsReproducible(t *testing.T) {
	t.Parallel()
	want := map[string][]byte{}
	for _, function := range functions {
		content, err := os.ReadFile(built(t, function, "arm64"))
		require.NoError(t, err)
		want[function] = content
	}
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
	for _, function := range functions {
		artifacts := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "make", "-s", "build-"+function)
		cmd.Dir, cmd.Env = module, append(os.Environ(), "ARTIFACTS_DIR="+artifacts, "ARCHITECTURE=arm64")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		got, err := os.ReadFile(filepath.Join(artifacts, "bootstrap"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want[function], got), "the builds of %s differ", function)
	}
}
