package deploy_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a reader deploys first is HCL, refers to what it has, and gives the module what that wants.
func TestTheFirstDeploymentFitsTheModule(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(terraformModule)
	require.NoError(t, err)
	offered := blocks(t, module)
	page, err := os.ReadFile("../../docs/start.md")
	require.NoError(t, err)
	code := regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$").FindSubmatch(page)
	require.NotNil(t, code)
	first := blocks(t, code[1])

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
	for _, m := range regexp.MustCompile(`\b(aws_\w+)\.(\w+)\.`).FindAllSubmatch(code[1], -1) {
		assert.Contains(t, first, "resource "+string(m[1])+" "+string(m[2]))
	}
	for _, m := range regexp.MustCompile(`\bmodule\.idempotency\.(\w+)`).FindAllSubmatch(code[1], -1) {
		assert.Contains(t, offered, "output "+string(m[1]))
	}
	assert.Contains(t, string(code[1]), `IDEMPOTENCY_TABLE = "`+literal(first["module idempotency"], "table_name")+`"`)
}
