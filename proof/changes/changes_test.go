package changes

import (
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
