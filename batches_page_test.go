package idempotent_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func batchesPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("docs/batches.md")
	require.NoError(t, err)
	return string(page)
}

// TestTheFirstProgramOfAQueueRuns does what a reader does: it copies the program of the page and its test into a module of its own, and runs
// the test.
func TestTheFirstProgramOfAQueueRuns(t *testing.T) {
	t.Parallel()
	code := blocks(batchesPage(t), "go")
	require.Greater(t, len(code), 2)
	folder := moduleOfAReader(t, map[string]string{"main.go": code[0], "main_test.go": code[1]})
	assert.Contains(t, runByAReader(t, folder), "--- PASS: TestAnOrderIsShippedOnceAndABadMessageComesAgain")
}

// TestTheCodeAboutBatchesIsThatOfTheExamples: the examples compile.
func TestTheCodeAboutBatchesIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("batch/example_test.go")
	require.NoError(t, err)
	_, section, found := strings.Cut(readme(t), "\n## Queues and streams: batch\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	code := append(blocks(section, "go"), blocks(batchesPage(t), "go")[2:]...)
	assert.Len(t, code, 3, "one of the README, two of the page beside the program and its test")
	for _, snippet := range code {
		assert.Contains(t, flush(string(examples)), flush(snippet))
	}
}
