package idempotent_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheCodeOfThePageAboutReconciliationsIsThatOfTheExamples: the examples compile, and their output is compared.
func TestTheCodeOfThePageAboutReconciliationsIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("operate/example_reconcile_test.go")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/reconcile.md")
	require.NoError(t, err)
	code := blocks(string(page), "go")
	assert.Len(t, code, 2)
	for _, snippet := range code {
		assert.Contains(t, flush(string(examples)), flush(strings.TrimSpace(snippet)))
	}
}
