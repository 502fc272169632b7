package changes

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatAChangeConcerns(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	p, err := Read(t.Context(), root)
	require.NoError(t, err)
	assert.Equal(t, ".", p.Modules[0])
	assert.Subset(t, p.Of("proof"), []string{"proof/changes", "proof/e2e"})
	assert.NotContains(t, p.Of("."), "proof/changes")
	assert.Contains(t, p.Imports["outbox"], "internal/relay")

	all := []string{".", "fingerprint", "memory", "proof/e2e", "examples/apigw-charge"}
	for file, want := range map[string][]string{
		"README.md":                         nil,
		"docs/http.md":                      nil,
		"bench/main.go":                     nil,
		"wrap.go":                           {".", "memory", "examples/apigw-charge"},
		"wrap_test.go":                      {"."},
		"go.mod":                            all,
		"proof/go.sum":                      {"proof/e2e"},
		"fingerprint/digest.go":             all,
		"fingerprint/testdata/deep/numbers": {"fingerprint"},
		"memory/memory_test.go":             {"memory"},
		"proof/e2e/kill_test.go":            {"proof/e2e"},
	} {
		var concerned []string
		for _, folder := range all {
			if p.Concern(folder, []string{"LICENSE", file}) {
				concerned = append(concerned, folder)
			}
		}
		assert.Equal(t, want, concerned, file)
	}
}

// history is a repository with a commit of three days ago, one of now, and a file that is in none.
func history(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	git := func(when string, args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_COMMITTER_DATE="+when, "GIT_AUTHOR_DATE="+when)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	write := func(name string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o600))
	}
	git("", "init", "-q", "-b", "main")
	write("old.go")
	git("", "add", "-A")
	git("2026-01-01T12:00:00Z", "commit", "-qm", "old")
	write("committed.go")
	git("", "add", "-A")
	git("2026-01-04T12:00:00Z", "commit", "-qm", "new")
	write("uncommitted.go")
	return root
}

func TestAChangeIsWhatIsYoungerThanADay(t *testing.T) {
	root := history(t)
	for _, since := range []struct {
		base, why string
		files     []string
	}{
		{"", "the newest commit that is a day older than the last one", []string{"committed.go", "uncommitted.go"}},
		{"HEAD", "BASE", []string{"uncommitted.go"}},
		{"", "where the branch left origin/main", []string{"committed.go", "uncommitted.go"}},
	} {
		t.Setenv("BASE", since.base)
		c, err := Latest(t.Context(), root)
		require.NoError(t, err)
		assert.Equal(t, since.why, c.Why)
		assert.Equal(t, since.files, c.Files)
		if since.base != "" {
			_, err = Git(t.Context(), root, "update-ref", "refs/remotes/origin/main", "HEAD~1")
			require.NoError(t, err)
		}
	}
}
