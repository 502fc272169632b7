package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// The checks of a function.
const (
	checkFunction    = "function"
	checkVariable    = "function names the table"
	checkEnvironment = "retention in the environment"
	checkRole        = "permissions of the function"
	checkGateway     = "timeout and gateway"
	checkBatches     = "event sources"
)

func (p *Patient) function(ctx context.Context) []Finding {
	f, err := p.Lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(p.Function)})
	if err != nil {
		return []Finding{unseen(checkFunction, err)}
	}
	timeout := ofSeconds(f.Timeout)
	var variables map[string]string
	if f.Environment != nil {
		variables = f.Environment.Variables
	}
	findings := []Finding{
		{checkFunction, OK, "timeout " + seconds(timeout)},
		p.variable(variables),
		environment(variables),
		{checkRole, NotChecked, "what was tried above are the permissions of your credentials, not those of its role"},
	}
	findings = append(findings, p.gateways(ctx, timeout)...)
	return append(findings, p.sources(ctx, timeout)...)
}

// variable looks for the table in the environment of the function.
func (p *Patient) variable(variables map[string]string) Finding {
	for _, name := range sortedNames(variables) {
		if variables[name] != "" && tableName(variables[name]) == tableName(p.Table) {
			return Finding{checkVariable, OK, name}
		}
	}
	return Finding{checkVariable, Warning, fmt.Sprintf("no variable of its environment is %q", p.Table)}
}

// tableName is the name of a table that is given by name or ARN.
func tableName(table string) string {
	_, name, isARN := strings.Cut(table, ":table/")
	if isARN {
		return name
	}
	return table
}

// environment looks for a retention in the environment of the function, which only a convention can name.
func environment(variables map[string]string) Finding {
	for _, name := range sortedNames(variables) {
		if !strings.Contains(strings.ToUpper(name), "RETENTION") {
			continue
		}
		d, ok := duration(variables[name])
		switch {
		case !ok:
			return Finding{checkEnvironment, NotChecked, name + " is neither a duration nor a number of seconds"}
		case d < shortestUsual:
			return Finding{checkEnvironment, Warning, fmt.Sprintf("%s is %s: whoever retries later executes again", name, d)}
		default:
			return Finding{checkEnvironment, OK, fmt.Sprintf("%s is %s", name, d)}
		}
	}
	return Finding{checkEnvironment, NotChecked, "no variable is named like a retention"}
}

func duration(text string) (time.Duration, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

func sortedNames(variables map[string]string) []string {
	names := make([]string, 0, len(variables))
	for name := range variables {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
