// Package release tests the script .ci/release as far as it looks at files.
package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const script = "../../../.ci/release"

func TestThisRepositoryCanBeReleased(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(script, "--check").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Regexp(t, `in this order: (v\S+) cmd/idempotent/v\S+ observe/otel/v\S+\n$`, string(out))
}

func TestWhatCannotBeInstalledIsNotReleased(t *testing.T) {
	t.Parallel()
	const library = "github.com/go-idempotent/idempotent"
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	root := t.TempDir()
	for name, text := range map[string]string{
		".ci/release":  string(text),
		"CHANGELOG.md": "## 0.2.0\n",
		"go.mod":       "module " + library + "\n",
		"cmd/idempotent/go.mod": "module " + library + "/cmd/idempotent\nrequire " + library + " v0.1.0\nreplace " +
			library + " => ../..\n",
		"observe/otel/go.mod": "module " + library + "/observe/otel\nrequire " + library + " v0.2.0\n",
		"go.work":             "replace " + library + " v0.2.0 => ./\n",
		"docs/start.md":       "deploy/terraform?ref=v0.1.0\n",
	} {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o700))
	}
	for _, command := range []string{"init --quiet", "add --all"} {
		require.NoError(t, exec.Command("git", append([]string{"-C", root}, strings.Fields(command)...)...).Run())
	}
	out, err := exec.Command(filepath.Join(root, ".ci/release"), "--check").CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, []string{
		"release: cmd/idempotent/go.mod has a replacement: nobody could install what is in it",
		"release: cmd/idempotent/go.mod names " + library + " v0.1.0, and CHANGELOG.md v0.2.0",
		"release: docs/start.md does not have deploy/terraform?ref=v0.2.0",
	}, strings.Split(strings.TrimSpace(string(out)), "\n"))
}
