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
	"github.com/go-idempotent/idempotent/outbox"
)

// Each template has the tables that the library makes. A function may do on the records what the
// store calls, with the keys of its operation.
func TestTheTemplatesHaveTheTableAndTheActions(t *testing.T) {
	t.Parallel()
	orders := readTemplate(t, read(t, ordersTemplate))
	for of, template := range map[string]map[string]resource{
		"charge": readTemplate(t, read(t, paymentTemplate)), "orders": orders, "charge, on the page": ofThePage(t),
	} {
		assert.Equal(t, records(), template["Table"].table(), of)
		name, _, onPage := strings.Cut(of, ",")
		operation := "${AWS::StackName}-" + name
		function := template[strings.ToUpper(name[:1])+name[1:]+"Function"]
		all := statement{dynamo.Actions(), []string{"Table.Arn"}, keysOf(operation)}
		assert.Equal(t, all, function.statements()[0], of)
		if !onPage {
			assert.Equal(t, operation, function.Properties["FunctionName"], "the operation")
		}
	}
	assert.Equal(t, messages(), orders["OutboxTable"].table())
}

// ofThePage are the resources of the snippet for SAM, whose second half is a property of a
// function.
func ofThePage(t *testing.T) map[string]resource {
	t.Helper()
	snippet := regexp.MustCompile("(?ms)^```yaml\n(.*?)^# .*?:\n(.*?)^```$")
	code := snippet.FindStringSubmatch(read(t, "../../docs/deploy.md"))
	require.NotNil(t, code)
	indented := func(text, by string) string {
		return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
	}
	return readTemplate(t,
		"Resources:\n"+indented(code[1], "  ")+"  ChargeFunction:\n    Properties:\n"+indented(code[2], "      "))
}

// A table with records or messages outlives the stack, and no policy has a wildcard.
func TestNothingIsLostOrGivenAwayByATemplate(t *testing.T) {
	t.Parallel()
	for _, file := range []string{paymentTemplate, ordersTemplate} {
		for name, r := range readTemplate(t, read(t, file)) {
			if r.Type == "AWS::DynamoDB::Table" {
				assert.Equal(t, []any{"Retain", "Retain", true},
					[]any{r.Deletion, r.Replace, r.Properties["DeletionProtectionEnabled"]}, name)
			}
			for _, s := range r.statements() {
				assert.NotContains(t, strings.Join(append(s.actions, s.resources...), " "), "*", name)
			}
		}
	}
}

// An alarm says what it means, leads to a section of the runbook, and looks at a metric that is
// written.
func TestAnAlarmLeadsToTheRunbook(t *testing.T) {
	t.Parallel()
	runbook, observability := read(t, "../../docs/runbook.md"), read(t, "../../docs/observability.md")
	requireLeads := func(name, description, namespace, metric string) {
		says, anchor, found := strings.Cut(description, "#")
		assert.True(t, found, name)
		assert.Regexp(t, `^[A-Z][^.]+\. \$\{(var\.r|R)unbook\}$`, says, name)
		assert.Regexp(t, `(?i)(<a id="`+anchor+`">|\n#+ `+anchor+`\n)`, runbook, name)
		if namespace == "Idempotent" {
			assert.Contains(t, observability, "| `"+metric+"` |", name)
		}
	}
	counts := map[string]int{}
	for _, file := range []string{paymentTemplate, ordersTemplate} {
		for name, r := range readTemplate(t, read(t, file)) {
			if r.Type == "AWS::CloudWatch::Alarm" {
				counts[file]++
				requireLeads(name, text(r.Properties, "AlarmDescription"), text(r.Properties, "Namespace"),
					text(r.Properties, "MetricName"))
				assert.Equal(t, []string{"Alarms"}, texts(r.Properties, "AlarmActions"), name)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^    ([A-Z]\w+) += \["([\w/]+)", "\w+", "(.+)"\]$`).FindAllStringSubmatch(
		read(t, terraformModule), -1) {
		counts[terraformModule]++
		requireLeads(m[1], m[3], m[2], m[1])
	}
	assert.Equal(t, map[string]int{paymentTemplate: 5, ordersTemplate: 8, terraformModule: 5}, counts)
}

// The stream hands over what nobody has tried, failures one by one, and for longer than the relay
// reports them.
func TestTheRelayLosesNoMessage(t *testing.T) {
	t.Parallel()
	relay := readTemplate(t, read(t, ordersTemplate))["RelayFunction"].Properties
	mapping := at(relay, "Events", "Messages", "Properties")
	assert.Equal(t, outbox.StreamFilter, text(mapping, "FilterCriteria", "Filters", 0, "Pattern"))
	assert.Equal(t, []string{"ReportBatchItemFailures"}, texts(mapping, "FunctionResponseTypes"))
	assert.Equal(t, []any{"OutboxTable.StreamArn", "TRIM_HORIZON", true},
		[]any{at(mapping, "Stream"), at(mapping, "StartingPosition"), at(mapping, "BisectBatchOnFunctionError")})
	timeout := number(relay, "Timeout")
	assert.Less(t, (1+number(mapping, "MaximumRetryAttempts"))*timeout, number(mapping, "MaximumRecordAgeInSeconds"),
		"the age must not end the retries")
	const delivery, marks = 5, 2 // seconds
	const concurrency = 10       // of the relay, by default
	assert.Less(t, number(mapping, "BatchSize")/concurrency*delivery+marks, timeout,
		"each message has its turn in each invocation")
}

// One drain ends before the next begins.
func TestTheDrainRunsEveryMinute(t *testing.T) {
	t.Parallel()
	drain := readTemplate(t, read(t, ordersTemplate))["DrainFunction"].Properties
	assert.Equal(t, "rate(1 minute)", text(drain, "Events", "EveryMinute", "Properties", "Schedule"))
	assert.Less(t, number(drain, "Timeout"), 60)
	assert.Equal(t, 0, at(drain, "EventInvokeConfig", "MaximumRetryAttempts"), "the next one comes anyway")
}

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
