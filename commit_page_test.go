package idempotent_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dynamolocal"
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
	inFolder(t, folder, nil, "go", "vet", "-mod=mod", ".")
	out := inFolder(t, folder, []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynamolocal.Endpoint(t), "AWS_REGION=" + dynamolocal.Region,
		"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
	}, "go", "test", "-mod=mod", "-count=1", "-v", ".")
	assert.Contains(t, out, "--- PASS: TestAnOrderIsPlacedOnce")
	assert.Empty(t, inFolder(t, folder, nil, "gofmt", "-l", "."), "as gofmt has it")
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
	code := blocks(commitPage(t), "go")[2:]
	assert.Len(t, code, 6, "beside the program and its test")
	for _, snippet := range code {
		if !strings.Contains(flush(string(examples)), flush(snippet)) {
			t.Errorf("in no example:\n%s", snippet)
		}
	}
}
