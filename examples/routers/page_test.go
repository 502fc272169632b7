package routers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/routers.md")
	require.NoError(t, err)
	return string(text)
}

// blocks are the pieces of Go of a page, in their order.
func blocks(page string) (found []string) {
	for _, match := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
	}
	return found
}

// TestTheFirstProgramRuns does what a reader does: it copies the first program of the page and its test into a module of their own, and
// runs the test. The versions of what it imports are those of this module, so nothing has to be fetched.
func TestTheFirstProgramRuns(t *testing.T) {
	t.Parallel()
	code := blocks(page(t))
	require.Greater(t, len(code), 2)
	module, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	sums, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	library, err := filepath.Abs("../..")
	require.NoError(t, err)
	theirs := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(string(module), "module example.com/reader")
	theirs = strings.Replace(theirs, "=> ../..", "=> "+library, 1)

	folder := t.TempDir()
	for name, content := range map[string]string{"go.mod": theirs, "go.sum": string(sums), "main.go": code[0], "main_test.go": code[1]} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	run(t, folder, "go", "vet", "-mod=mod", ".")
	assert.Empty(t, run(t, folder, "gofmt", "-l", "."), "as gofmt has it")
	assert.Contains(t, run(t, folder, "go", "test", "-mod=mod", "-count=1", "-v", "."), "--- PASS: TestEachRouteHasItsRules")
}

// run runs a command there, and returns what it says.
func run(t *testing.T, folder, command string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, arguments...)
	cmd.Dir, cmd.Env = folder, slices.Concat(os.Environ(), []string{"GOFLAGS=", "GOWORK=off", "GOPROXY=off"})
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)
	return string(out)
}

// TestTheCodeOfThePageIsThatOfTheExample, which runs.
func TestTheCodeOfThePageIsThatOfTheExample(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("payments/*.go")
	require.NoError(t, err)
	files = append(files, "servemux/main.go", "commit_test.go")
	var example strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		example.Write(text)
	}
	snippets := blocks(page(t))[2:]
	require.Len(t, snippets, 10)
	for _, snippet := range snippets {
		assert.Contains(t, example.String(), snippet)
	}
}

// TestThePageNamesTheVersionOfTheAdapter that is tested here.
func TestThePageNamesTheVersionOfTheAdapter(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`aws-lambda-go-api-proxy v(\S+)`).FindStringSubmatch(string(module))
	require.NotNil(t, version)
	require.Contains(t, page(t), "version "+version[1])
}
