package stack_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// contextValues are what variables of an access log can be, of those that are words, numbers and ids and nothing else. A variable
// that a request does not have is a dash, see
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html.
var contextValues = map[string]string{
	"$context.requestId":                     "WvYx0hYvoAMEJ4A=",
	"$context.requestTime":                   "01/Mar/2026:11:30:00 +0000",
	"$context.routeKey":                      "POST /charges", // as the template names it, or $default
	"$context.status":                        "201",
	"$context.error.responseType":            "INTEGRATION_FAILURE",
	"$context.integration.integrationStatus": "200",
	"$context.integration.status":            "502",
	"$context.responseLatency":               "12",
	"$context.identity.sourceIp":             "2001:db8::7",
}

// hostile is what a text can be: that of an error quotes what it is about.
const hostile = `Lambda body contains the wrong type for field "body" \`

var contextVariable = regexp.MustCompile(`\$context(\.[A-Za-z]+)+`)

// TestNoTextBreaksTheAccessLog fills the format in. It escapes nothing: no page of AWS promises that API Gateway does.
func TestNoTextBreaksTheAccessLog(t *testing.T) {
	t.Parallel()
	format := deployed(t, nil).Resources["HttpStage"].At("AccessLogSettings", "Format").(string)
	require.NotContains(t, strings.TrimSuffix(format, "\n"), "\n", "API Gateway wants one line")
	variables := contextVariable.FindAllString(format, -1)
	require.Contains(t, variables, "$context.requestId", "API Gateway wants the id of the request")

	fill := func(valueOf func(variable string) string) map[string]any {
		line := contextVariable.ReplaceAllStringFunc(format, valueOf)
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		require.Len(t, fields, len(variables), line)
		return fields
	}
	present := func(variable string) string {
		value, known := contextValues[variable]
		switch {
		case known:
			return value
		case strings.HasSuffix(variable, "String"): // the text in quotes
			return `"` + hostile + `"`
		default:
			return hostile
		}
	}
	fields := fill(present)
	require.Equal(t, "502", fields["functionStatus"])
	require.Equal(t, "INTEGRATION_FAILURE", fields["error"])
	for _, absent := range variables {
		fill(func(variable string) string {
			if variable == absent {
				return "-"
			}
			return present(variable)
		})
	}
}
