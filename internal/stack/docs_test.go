package stack_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/stack"
)

func TestTheGuideKnowsWhatTheTemplateHas(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/deployment.md")
	require.NoError(t, err)
	guide := string(text)
	template, err := stack.Read(file)
	require.NoError(t, err)
	for name, p := range template.Parameters {
		require.Contains(t, guide, "`"+name+"`", "a parameter")
		if number, is := p.Default.(int); is {
			require.Regexp(t, "`"+name+"`.*\\|.*\\b"+strconv.Itoa(number)+"\\b", guide)
		}
	}
	for _, variant := range []string{"orders", "shipping", "reconciled"} {
		for name := range deployed(t, variants[variant]).Of("AWS::CloudWatch::Alarm") {
			require.Contains(t, guide, "| `"+name+"` |", "an alarm")
		}
	}
	requireMappingIn(t, guide)
	for _, call := range allowed(t) {
		require.Contains(t, guide, "`"+call+"`", "an action")
	}
	for name := range deployed(t, nil).Of("AWS::IAM::ManagedPolicy") {
		require.Contains(t, guide, "`"+name+"Arn`", "the output of a policy for people")
		for a := range accesses(t, managed(t, deployed(t, nil), name)) {
			require.Contains(t, guide, "`"+a.call+"`", "an action")
		}
	}
}

func TestEveryParameterSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	template, err := stack.Read(file)
	require.NoError(t, err)
	for name, p := range template.Parameters {
		require.NotEmpty(t, p.Description, name)
		require.LessOrEqual(t, len(p.Description), 4000, "%s: CloudFormation takes no more", name)
	}
	// What it is good for, and what it takes away from others.
	reserved := template.Parameters["ReservedConcurrency"].Description
	for _, says := range []string{"protects", "provider", "other functions", "costs", "limit shrinks", "refused"} {
		require.Contains(t, reserved, says)
	}
}

// requireMappingIn checks that a page has the settings of the event source mapping as they are.
func requireMappingIn(t *testing.T, guide string) {
	t.Helper()
	mapping := mappingOf(t)
	for name, value := range mapping().(map[string]any) {
		row := "\\| .*`" + name + "`.*\\|.*\\|"
		switch value := value.(type) {
		case int:
			row = "\\| .*`" + name + "`.*\\|.*\\b" + strconv.Itoa(value) + "\\b.*\\|"
		case string, bool:
			row = "\\| `" + name + "` \\| `" + fmt.Sprint(value) + "` \\|"
		}
		if name != "Stream" { // which is the table's
			require.Regexp(t, row, guide, "a setting of the mapping")
		}
	}
}
