package idempotent_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func commitPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("docs/commit.md")
	require.NoError(t, err)
	return string(page)
}

// TestTheFirstProgramWithACommitRuns does what a reader does: it copies the first program of the page and its test into a module of
// their own, and runs the test on DynamoDB Local.
func TestTheFirstProgramWithACommitRuns(t *testing.T) {
	t.Parallel()
	code := blocks(commitPage(t), "go")
	require.Greater(t, len(code), 2)
	folder := moduleOfAReader(t, map[string]string{"main.go": code[0], "main_test.go": code[1]})
	assert.Contains(t, runByAReader(t, folder), "--- PASS: TestAnOrderIsPlacedOnce")
}

// TestTheCodeOfThePageAboutCommitsIsThatOfTheExamples: the examples compile, and a test beside them runs their handlers.
func TestTheCodeOfThePageAboutCommitsIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	var examples []byte
	for _, file := range []string{"dynamo/example_commit_test.go", "idempotenttest/example_test.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		examples = append(examples, text...)
	}
	_, section, found := strings.Cut(readme(t), "\n## Your rows and the answer: commit\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	code := append(blocks(section, "go"), blocks(commitPage(t), "go")[2:]...)
	assert.Len(t, code, 7, "one of the README, six of the page beside the program and its test")
	for _, snippet := range code {
		if !strings.Contains(flush(string(examples)), flush(snippet)) {
			t.Errorf("in no example:\n%s", snippet)
		}
	}
}
