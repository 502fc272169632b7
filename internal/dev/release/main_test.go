package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThisRepositoryCanBeReleased(t *testing.T) {
	t.Parallel()
	tree, err := open("../../..")
	require.NoError(t, err)
	assert.Empty(t, tree.problems())
	assert.Equal(t, tree.version, tree.tagNames()[0], "the library first")
	assert.Contains(t, tree.tagNames(), "cmd/idempotent/"+tree.version)
	origin := t.TempDir()
	require.NoError(t, tree.publish(origin))
	for _, name := range tree.tagNames() {
		out, err := exec.Command("git", "--git-dir", origin, "ls-tree", "--name-only", name).Output()
		require.NoError(t, err)
		assert.Contains(t, strings.Fields(string(out)), "idempotent.go")
	}
}

func TestWhatCannotBeInstalledIsNotReleased(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"CHANGELOG.md": "## 0.2.0\n",
		"go.mod":       "module " + library + "\n",
		"cmd/idempotent/go.mod": "module " + library + "/cmd/idempotent\nrequire " + library + " v0.1.0\nreplace " +
			library + " => ../..\n",
		"observe/otel/go.mod":     "module " + library + "/observe/otel\nrequire " + library + " v0.2.0\n",
		"observe/otel/observe.go": "package otel\n",
		"go.work":                 "replace " + library + " v0.2.0 => ./\n",
		"docs/start.md":           "deploy/terraform?ref=v0.1.0\n",
	} {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	for _, command := range []string{"init --quiet", "add --all"} {
		require.NoError(t, exec.Command("git", append([]string{"-C", root}, strings.Fields(command)...)...).Run())
	}
	tree, err := open(root)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{
		"cmd/idempotent/go.mod has a replacement: nobody could install what is in it",
		"cmd/idempotent/go.mod names " + library + " v0.1.0, and CHANGELOG.md v0.2.0",
		"docs/start.md does not have deploy/terraform?ref=v0.2.0",
	}, tree.problems())
	assert.Equal(t, []string{"v0.2.0", "cmd/idempotent/v0.2.0", "observe/otel/v0.2.0"}, tree.tagNames())
}
