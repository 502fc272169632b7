package idempotent_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheCodeOfThePagesAboutStepsIsThatOfTheExamples: the examples compile, and their output is compared.
func TestTheCodeOfThePagesAboutStepsIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("example_step_test.go")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/steps.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(readme(t), "\n## Several effects: steps\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")

	code := append(blocks(section, "go"), blocks(string(page), "go")...)
	assert.Len(t, code, 6, "one of the README, five of the page")
	for _, snippet := range code {
		if !strings.Contains(flush(string(examples)), flush(snippet)) {
			t.Errorf("in no example:\n%s", snippet)
		}
	}
}

// flush is code without the indentation of its lines: an example stands deeper than its piece on a page.
func flush(code string) string {
	lines := strings.Split(code, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}
