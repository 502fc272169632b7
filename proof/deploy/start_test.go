package deploy_test

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a reader deploys first is HCL, refers to what it has, and gives the module what that wants.
func TestTheFirstDeploymentFitsTheModule(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(terraformModule)
	require.NoError(t, err)
	assert.LessOrEqual(t, bytes.Count(module, []byte("\n")), 150, "a reader reads the module before they use it")
	offered := blocks(t, module)
	api, queue := firstDeployments(t)
	first := blocks(t, api)

	var given []string
	for name := range first["module idempotency"].Body.Attributes {
		if name != "source" {
			require.Contains(t, offered, "variable "+name)
			given = append(given, "variable "+name)
		}
	}
	for name, b := range offered {
		if b.Type == "variable" && b.Body.Attributes["default"] == nil {
			assert.Contains(t, given, name, "the module wants it")
		}
	}
	assertRefersToWhatIsThere(t, api, first)
	for _, m := range regexp.MustCompile(`\bmodule\.idempotency\.(\w+)`).FindAllSubmatch(api, -1) {
		assert.Contains(t, offered, "output "+string(m[1]))
	}
	assert.Contains(t, string(api), `IDEMPOTENCY_TABLE = "`+literal(first["module idempotency"], "table_name")+`"`)

	both := blocks(t, queue)
	timeout, visible := first["resource aws_lambda_function charge"], both["resource aws_sqs_queue orders"]
	assert.Equal(t, 6*number(t, timeout, "timeout"), number(t, visible, "visibility_timeout_seconds"))
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

func assertRefersToWhatIsThere(t *testing.T, code []byte, there map[string]*hclsyntax.Block) {
	t.Helper()
	found := regexp.MustCompile(`\b(aws_\w+)\.(\w+)\b`).FindAllSubmatch(code, -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		assert.Contains(t, there, "resource "+string(m[1])+" "+string(m[2]))
	}
}

// number is an attribute that is one.
func number(t *testing.T, b *hclsyntax.Block, name string) int {
	t.Helper()
	require.NotNil(t, b)
	v, problems := b.Body.Attributes[name].Expr.Value(nil)
	require.False(t, problems.HasErrors())
	n, err := strconv.Atoi(v.AsBigFloat().String())
	require.NoError(t, err)
	return n
}
