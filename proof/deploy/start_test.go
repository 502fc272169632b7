package deploy_test

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a reader deploys first is HCL, refers to what it has, and gives the module what that wants.
func TestTheFirstDeploymentFitsTheModule(t *testing.T) {
	t.Parallel()
	offered, module := readModule(t)
	assert.LessOrEqual(t, strings.Count(module, "\n"), 150, "a reader reads the module before they use it")
	api, queue := firstDeployments(t)
	first, both := parseTerraform(t, api), parseTerraform(t, queue)

	given := first["module idempotency"]
	for name := range given {
		assert.True(t, name == "source" || offered["variable "+name] != nil, name)
	}
	for name, b := range offered {
		if variable, is := strings.CutPrefix(name, "variable "); is && b["default"] == nil {
			assert.Contains(t, given, variable, "the module wants it")
		}
	}
	assertRefersToWhatIsThere(t, api, first)
	for _, m := range regexp.MustCompile(`\bmodule\.idempotency\.(\w+)`).FindAllSubmatch(api, -1) {
		assert.Contains(t, offered, "output "+string(m[1]))
	}
	assert.Contains(t, string(api), `IDEMPOTENCY_TABLE = "`+text(given, "table_name")+`"`)

	assert.Equal(t, 6*number(first["resource aws_lambda_function charge"], "timeout"),
		number(both["resource aws_sqs_queue orders"], "visibility_timeout_seconds"))
	maps.Copy(both, first)
	assertRefersToWhatIsThere(t, queue, both)
	assert.Contains(t, offered, "variable operation", "the page says to give it")
}

// firstDeployments are the two of the page: behind an API, and what is different behind a queue.
func firstDeployments(t *testing.T) (api, queue []byte) {
	t.Helper()
	page, err := os.ReadFile("../../docs/start.md")
	require.NoError(t, err)
	code := regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$").FindAllSubmatch(page, -1)
	require.Len(t, code, 2)
	return code[0][1], code[1][1]
}

func assertRefersToWhatIsThere(t *testing.T, code []byte, there terraform) {
	t.Helper()
	found := regexp.MustCompile(`\b(aws_\w+)\.(\w+)\b`).FindAllSubmatch(code, -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		assert.Contains(t, there, "resource "+string(m[1])+" "+string(m[2]))
	}
}
