package deploy_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands that pages have for a table, beside the snippets, make what the code needs: they
// have parts of the command that the snippet for the AWS CLI makes of its definition.
func TestTheCommandsOfThePagesMakeTheTables(t *testing.T) {
	t.Parallel()
	parts := regexp.MustCompile(`--attribute-definitions( \S+)((?: \S+)+) \\\n +(--key-schema \S+) \\\n.* '(.*)'\n`)
	ofRecords := parts.FindStringSubmatch(rendered(t, "cli.sh", records()))
	ofMessages := parts.FindStringSubmatch(rendered(t, "cli.sh", messages()))
	require.NotNil(t, ofRecords)
	require.NotNil(t, ofMessages)
	for file, commands := range map[string][]string{
		"../../README.md": {
			"create-table --table-name idempotency --billing-mode " + text(records(), "BillingMode"),
			"--attribute-definitions" + ofRecords[1] + " ", ofRecords[3], "Enabled=true,AttributeName=" +
				expires(records()),
		},
		"../../docs/deploy.md": {
			"--attribute-definitions" + ofRecords[2] + " \\",
			"--global-secondary-index-updates 'Create={" + ofRecords[4] + "}'",
		},
		"../../docs/outbox.md": {
			"create-table --table-name outbox --billing-mode " + text(messages(), "BillingMode"),
			"--attribute-definitions" + ofMessages[1] + ofMessages[2], ofMessages[3],
			"StreamEnabled=true,StreamViewType=" + text(messages(), "StreamSpecification", "StreamViewType"),
			"--global-secondary-indexes '" + ofMessages[4] + "'", "Enabled=true,AttributeName=" + expires(messages()),
		},
	} {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range commands {
			assert.Contains(t, string(page), part, file)
		}
	}
}

func expires(table definition) string { return text(table, "TimeToLiveSpecification", "AttributeName") }
