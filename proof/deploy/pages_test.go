package deploy_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
)

const terraformModule = "../../deploy/terraform/main.tf"

// What the AWS CLI, Terraform and CDK want to know of a table. What is in capitals is in its
// definition.
const (
	keysOfCLI  = `--attribute-definitions AttributeName=ID,AttributeType=S`
	indexOfCLI = `IndexName=INDEX,KeySchema=[{AttributeName=SHARD,KeyType=HASH},{AttributeName=DUE,KeyType=RANGE}],` +
		`Projection={ProjectionType=INCLUDE,NonKeyAttributes=[WITH]}`
	attributesOfCLI = ` AttributeName=SHARD,AttributeType=S AttributeName=DUE,AttributeType=N \ --`
	tableOfHCL      = `billing_mode = "BILLING" hash_key = "ID" STREAM attribute { name = "ID" type = "S" } ` +
		`attribute { name = "SHARD" type = "S" } attribute { name = "DUE" type = "N" } global_secondary_index { ` +
		`name = "INDEX" hash_key = "SHARD" range_key = "DUE" projection_type = "INCLUDE" ` +
		`non_key_attributes = ["WITH"] } ttl { attribute_name = "EXPIRES" enabled = true } ` +
		`point_in_time_recovery { enabled = true } deletion_protection_enabled = true`
	tableOfCDK = `partitionKey: { name: "ID", type: dynamodb.AttributeType.STRING }, ` +
		`billingMode: dynamodb.BillingMode.BILLING, timeToLiveAttribute: "EXPIRES",`
	indexOfCDK = `indexName: "INDEX", partitionKey: { name: "SHARD", type: dynamodb.AttributeType.STRING }, ` +
		`sortKey: { name: "DUE", type: dynamodb.AttributeType.NUMBER }, ` +
		`projectionType: dynamodb.ProjectionType.INCLUDE, nonKeyAttributes: ["WITH"],`
)

func TestThePagesAndTheModuleHaveTheTableAndTheActions(t *testing.T) {
	t.Parallel()
	actions := func(between string) string { return `"` + strings.Join(dynamo.Actions(), between) + `"` }
	for _, p := range []struct {
		file  string
		table definition
		// between stands between the names of a list.
		between string
		has     []string
	}{
		{"../../README.md", records(), "", []string{
			`create-table --table-name idempotency --billing-mode BILLING \ ` + keysOfCLI +
				` --key-schema AttributeName=ID,KeyType=HASH`, `Enabled=true,AttributeName=EXPIRES`,
		}},
		{"../../docs/deploy.md", records(), ",", []string{
			`create-table --table-name idempotency --billing-mode BILLING \ ` + keysOfCLI + attributesOfCLI +
				`key-schema AttributeName=ID,KeyType=HASH \ --global-secondary-indexes '` + indexOfCLI,
			`AttributeName=EXPIRES,Enabled=true`, `"Action":[` + actions(`","`) + `],`,
			`update-table --table-name idempotency \ --attribute-definitions` + attributesOfCLI +
				`global-secondary-index-updates 'Create={` + indexOfCLI,
		}},
		{"../../docs/deploy.md", records(), `", "`, []string{
			tableOfCDK, indexOfCDK, `actions: [ ` + actions(`", "`) + `, ], resources: [table.tableArn],`,
		}},
		{"../../docs/outbox.md", messages(), ",", []string{
			`create-table --table-name outbox --billing-mode BILLING \ ` + keysOfCLI + attributesOfCLI +
				`key-schema AttributeName=ID,KeyType=HASH \ --stream-specification StreamEnabled=true,StreamViewType=VIEW \ ` +
				`--global-secondary-indexes '` + indexOfCLI, `Enabled=true,AttributeName=EXPIRES`,
		}},
		{terraformModule, records(), `", "`, []string{
			tableOfHCL,
			`statement { actions = [ ` + actions(`", "`) + `, ] resources = [aws_dynamodb_table.records.arn] condition { ` +
				`test = "ForAllValues:StringLike" variable = "dynamodb:LeadingKeys" values = ["${local.operation}#*"] } ` +
				`condition { test = "Null" variable = "dynamodb:LeadingKeys" values = ["false"] } } }`,
		}},
		{terraformModule, messages(), `", "`, []string{tableOfHCL}},
	} {
		index, stream := at(p.table, "GlobalSecondaryIndexes", 0), ""
		view := text(p.table, "StreamSpecification", "StreamViewType")
		if view != "" {
			stream = `stream_enabled = true stream_view_type = "` + view + `" `
		}
		definition := strings.NewReplacer("BILLING", text(p.table, "BillingMode"), "STREAM ", stream, "VIEW", view,
			"ID", text(p.table, "KeySchema", 0, "AttributeName"), "INDEX", text(index, "IndexName"),
			"SHARD", text(index, "KeySchema", 0, "AttributeName"), "DUE", text(index, "KeySchema", 1, "AttributeName"),
			"WITH", strings.Join(texts(index, "Projection", "NonKeyAttributes"), p.between),
			"EXPIRES", text(p.table, "TimeToLiveSpecification", "AttributeName"))
		page := strings.Join(strings.Fields(read(t, p.file)), " ")
		for _, part := range p.has {
			assert.Contains(t, page, definition.Replace(part), p.file)
		}
	}
	assert.Equal(t, 1, strings.Count(read(t, terraformModule), "statement {"), "a function may do nothing else")
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(content)
}

// What a reader deploys first is HCL, refers to what it has, and gives the module what that wants.
func TestTheFirstDeploymentFitsTheModule(t *testing.T) {
	t.Parallel()
	module := read(t, terraformModule)
	assert.LessOrEqual(t, strings.Count(module, "\n"), 150, "a reader reads the module before they use it")
	code := regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$").FindAllStringSubmatch(read(t, "../../docs/start.md"), -1)
	require.Len(t, code, 2, "behind an API, and what is different behind a queue")
	first, both := code[0][1], code[0][1]+code[1][1]
	for _, text := range []string{module, first, both} {
		_, problems := hclparse.NewParser().ParseHCL([]byte(text), "main.tf")
		require.False(t, problems.HasErrors(), problems.Error())
	}
	all := func(text, expression string) (found []string) {
		for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		return found
	}
	given := all(first, `(?s)module "idempotency" \{\n(.*?)\n\}`)[0]
	assert.Subset(t, all(module, `variable "(\w+)"`), append(all(given, `(?m)^ +(\w+) +=`)[1:], "operation"))
	wanted := all(module, `variable "(\w+)" \{ type = \w+ \}`)
	assert.Subset(t, all(given, `(?m)^ +(\w+) +=`), wanted)
	assert.Subset(t, all(module, `output "(\w+)"`), all(first, `\bmodule\.idempotency\.(\w+)`))
	assert.Contains(t, first, `IDEMPOTENCY_TABLE = "`+all(given, `table_name += "(\w+)"`)[0]+`"`)
	for _, m := range regexp.MustCompile(`\b(aws_\w+)\.(\w+)\b`).FindAllStringSubmatch(both, -1) {
		assert.Contains(t, both, `resource "`+m[1]+`" "`+m[2]+`"`)
	}
	timeout, err := strconv.Atoi(all(first, `\n  timeout += (\d+)`)[0])
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(6*timeout), all(both, `visibility_timeout_seconds = (\d+)`)[0])
}
