package deploy_test

import (
	"regexp"
	"strings"
	"testing"

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
