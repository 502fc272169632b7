package deploy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands that pages have for a table, beside the snippets, make what the code needs.
func TestTheCommandsOfThePagesMakeTheTables(t *testing.T) {
	t.Parallel()
	for file, commands := range map[string][]string{
		"../../README.md": {
			"create-table --table-name idempotency --billing-mode " + records().BillingMode,
			"--attribute-definitions AttributeName=" + records().Key + ",AttributeType=S ",
			keySchema(records()), "Enabled=true,AttributeName=" + records().TimeToLive,
		},
		"../../docs/deploy.md": {
			attributeDefinitions(records().Attributes[1:]) + " \\",
			"--global-secondary-index-updates 'Create={" + shorthand(records().Index) + "}'",
		},
		"../../docs/outbox.md": {
			"create-table --table-name outbox --billing-mode " + messages().BillingMode,
			attributeDefinitions(messages().Attributes), keySchema(messages()),
			"StreamEnabled=true,StreamViewType=" + messages().Stream,
			"--global-secondary-indexes '" + shorthand(messages().Index) + "'",
			"Enabled=true,AttributeName=" + messages().TimeToLive,
		},
	} {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range commands {
			assert.Contains(t, string(page), part, file)
		}
	}
}

func keySchema(d definition) string { return "--key-schema AttributeName=" + d.Key + ",KeyType=HASH" }

func attributeDefinitions(all []attribute) string {
	parts := []string{"--attribute-definitions"}
	for _, a := range all {
		parts = append(parts, "AttributeName="+a.Name+",AttributeType="+a.Type)
	}
	return strings.Join(parts, " ")
}

// shorthand is an index as the AWS CLI takes it.
func shorthand(i index) string {
	return "IndexName=" + i.Name + ",KeySchema=[{AttributeName=" + i.Hash +
		",KeyType=HASH},{AttributeName=" + i.Range + ",KeyType=RANGE}]," +
		"Projection={ProjectionType=" + i.Projection + ",NonKeyAttributes=[" + strings.Join(i.Includes, ",") + "]}"
}
