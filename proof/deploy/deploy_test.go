package deploy_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/outbox"
)

const page = "../../docs/deploy.md"

var update = flag.Bool("update", false, "write the snippets into the page")

// rendered is a snippet with a table and the actions of a function.
func rendered(t *testing.T, name string, table definition) string {
	t.Helper()
	parsed, err := template.New(name).Funcs(template.FuncMap{"join": func(all []any, by string) string {
		return strings.Join(texts(all), by)
	}}).ParseFiles(
		filepath.Join("snippets", name))
	require.NoError(t, err)
	var out bytes.Buffer
	table["Name"], table["Actions"] = "idempotency", dynamo.Actions()
	require.NoError(t, parsed.Execute(&out, table))
	return out.String()
}

// The page includes each snippet between two markers:
//
//	<!-- snippet: sam.yaml -->
//	<!-- end -->
func TestThePageHasTheSnippets(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	files, err := filepath.Glob("snippets/*")
	require.NoError(t, err)
	require.Len(t, files, 4)
	want := string(content)
	for _, file := range files {
		name := filepath.Base(file)
		language := map[string]string{".sh": "sh", ".yaml": "yaml", ".tf": "hcl", ".ts": "ts"}[filepath.Ext(name)]
		start, end := "<!-- snippet: "+name+" -->\n", "<!-- end -->"
		before, rest, found := strings.Cut(want, start)
		require.True(t, found, "%s has no place for %s", page, name)
		_, after, found := strings.Cut(rest, end)
		require.True(t, found)
		want = before + start + "```" + language + "\n" + rendered(t, name, records()) + "```\n" + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(content), "go test -C proof ./deploy -update writes the snippets")
}

// Each of these has the table that dynamo.TableDefinition makes.
func TestTheTableIsTheOneThatTheStoreNeeds(t *testing.T) {
	t.Parallel()
	module, _ := readModule(t)
	for name, got := range map[string]definition{
		paymentTemplate:   readTemplate(t, paymentTemplate)["Table"].table(),
		ordersTemplate:    readTemplate(t, ordersTemplate)["Table"].table(),
		"the SAM snippet": samSnippet(t)["Table"].table(),
		terraformModule:   module.table("records"),
		"the HCL snippet": parseTerraform(t, []byte(rendered(t, "terraform.tf", records()))).table("records"),
	} {
		assert.Equal(t, records(), got, name)
	}
	assert.Equal(t, messages(), readTemplate(t, ordersTemplate)["OutboxTable"].table())
	assert.Equal(t, messages(), module.table("messages"))
}

// samSnippet are the resources of the snippet for SAM, whose second half is a property of a
// function.
func samSnippet(t *testing.T) map[string]resource {
	t.Helper()
	table, policies, found := strings.Cut(rendered(t, "sam.yaml", records()), "# … and in the properties of the function:\n")
	require.True(t, found)
	indented := func(text, by string) string {
		return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
	}
	document := "Resources:\n" + indented(table, "  ") + "  Function:\n    Properties:\n" + indented(policies, "      ")
	return parseTemplate(t, []byte(document))
}

// A function may do on the table what the store calls, with the keys of its operation, and nothing
// else.
func TestAFunctionMayDoWhatTheStoreCalls(t *testing.T) {
	t.Parallel()
	of := func(table, operation string) []statement {
		return []statement{{dynamo.Actions(), []string{table}, keysOf(operation + "#*")}}
	}
	// As it is written there, with its quotes.
	inHCL := func(operation string) []statement {
		return []statement{{
			dynamo.Actions(),
			[]string{"aws_dynamodb_table.records.arn"},
			keysOf(`"${` + operation + `}#*"`),
		}}
	}
	module, _ := readModule(t)
	assert.Equal(t, inHCL("local.operation"), module.statements())
	assert.Equal(t, inHCL("aws_lambda_function.charge.function_name"),
		parseTerraform(t, []byte(rendered(t, "terraform.tf", records()))).statements())

	charge := readTemplate(t, paymentTemplate)["ChargeFunction"]
	assert.Equal(t, "${AWS::StackName}-charge", charge.Properties["FunctionName"], "the operation")
	assert.Equal(t, of("Table.Arn", "${AWS::StackName}-charge"), charge.statements())
	assert.Equal(t, of("Table.Arn", "${AWS::StackName}-charge"), samSnippet(t)["Function"].statements())

	orders := readTemplate(t, ordersTemplate)["OrdersFunction"]
	assert.Equal(t, "${AWS::StackName}-orders", orders.Properties["FunctionName"], "the operation")
	assert.Equal(t, of("Table.Arn", "${AWS::StackName}-orders"), orders.statements()[:1])
}

// A table with records or messages outlives the stack, and no policy has a wildcard.
func TestNothingIsLostOrGivenAwayByATemplate(t *testing.T) {
	t.Parallel()
	for _, file := range []string{paymentTemplate, ordersTemplate} {
		for name, r := range readTemplate(t, file) {
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
	runbook, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	observability, err := os.ReadFile("../../docs/observability.md")
	require.NoError(t, err)
	requireLeads := func(name, description, namespace, metric string) {
		says, anchor, found := strings.Cut(description, "#")
		assert.True(t, found, name)
		assert.Regexp(t, `^[A-Z][^.]+\. \$\{(var\.r|R)unbook\}$`, says, name)
		assert.True(t, hasAnchor(string(runbook), anchor),
			"docs/runbook.md has no #%s, to which %s leads", anchor, name)
		if namespace == "Idempotent" {
			assert.Contains(t, string(observability), "| `"+metric+"` |", name)
		}
	}
	counts := map[string]int{}
	for _, file := range []string{paymentTemplate, ordersTemplate} {
		for name, r := range readTemplate(t, file) {
			if r.Type == "AWS::CloudWatch::Alarm" {
				counts[file]++
				requireLeads(name, text(r.Properties, "AlarmDescription"), text(r.Properties, "Namespace"),
					text(r.Properties, "MetricName"))
				assert.Equal(t, []string{"Alarms"}, texts(r.Properties, "AlarmActions"), name)
			}
		}
	}
	_, module := readModule(t)
	for _, m := range regexp.MustCompile(`(?m)^    ([A-Z]\w+) += \["([\w/]+)", "\w+", "(.+)"\]$`).FindAllStringSubmatch(
		module, -1) {
		counts[terraformModule]++
		requireLeads(m[1], m[3], m[2], m[1])
	}
	assert.Equal(t, map[string]int{paymentTemplate: 5, ordersTemplate: 8, terraformModule: 5}, counts)
}

// hasAnchor reports whether a page has a heading, or an element with an id, to which an anchor
// leads.
func hasAnchor(page, anchor string) bool {
	if strings.Contains(page, `<a id="`+anchor+`">`) {
		return true
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(plain, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// The stream hands over what nobody has tried, failures one by one, and for longer than the relay
// reports them.
func TestTheRelayLosesNoMessage(t *testing.T) {
	t.Parallel()
	relay := readTemplate(t, ordersTemplate)["RelayFunction"].Properties
	mapping := at(relay, "Events", "Messages", "Properties")
	assert.Equal(t, outbox.StreamFilter, text(mapping, "FilterCriteria", "Filters", 0, "Pattern"))
	assert.Equal(t, []string{"ReportBatchItemFailures"}, texts(mapping, "FunctionResponseTypes"))
	assert.Equal(t, []any{"OutboxTable.StreamArn", "TRIM_HORIZON", true},
		[]any{at(mapping, "Stream"), at(mapping, "StartingPosition"), at(mapping, "BisectBatchOnFunctionError")})
	timeout := number(relay, "Timeout")
	assert.Less(t, (1+number(mapping, "MaximumRetryAttempts"))*timeout, number(mapping, "MaximumRecordAgeInSeconds"),
		"the age must not end the retries")
	const delivery, marks = 5, 2 // seconds
	assert.Less(t, number(mapping, "BatchSize")/outbox.DefaultConcurrency*delivery+marks, timeout,
		"each message has its turn in each invocation")
}

// One drain ends before the next begins.
func TestTheDrainRunsEveryMinute(t *testing.T) {
	t.Parallel()
	drain := readTemplate(t, ordersTemplate)["DrainFunction"].Properties
	assert.Equal(t, "rate(1 minute)", text(drain, "Events", "EveryMinute", "Properties", "Schedule"))
	assert.Less(t, number(drain, "Timeout"), 60)
	assert.Equal(t, 0, at(drain, "EventInvokeConfig", "MaximumRetryAttempts"), "the next one comes anyway")
}
