package idempotent_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheCodeOfThePageAboutRoutesIsThatOfTheExamples: the examples compile, and their output is compared.
func TestTheCodeOfThePageAboutRoutesIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("example_routes_test.go")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/http.md")
	require.NoError(t, err)
	_, sections, found := strings.Cut(string(page), "\n### Requests that need no protection\n")
	require.True(t, found)
	sections, _, found = strings.Cut(sections, "\n### What is stored\n")
	require.True(t, found)
	code := blocks(sections, "go")
	assert.Len(t, code, 2)
	for _, snippet := range code {
		assert.Contains(t, flush(string(examples)), flush(snippet))
	}
}
