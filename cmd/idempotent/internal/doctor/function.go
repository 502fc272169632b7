package doctor

import (
	"context"
	"fmt"
	"maps"
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
	checkGateway     = "timeout and gateway"
	checkCallers     = "callers"
	checkBatches     = "event sources"
)

func (p *Patient) function(ctx context.Context) []Finding {
	client := lambda.NewFromConfig(p.Config)
	f, err := client.GetFunctionConfiguration(ctx,
		&lambda.GetFunctionConfigurationInput{FunctionName: aws.String(p.Function)})
	if err != nil {
		return []Finding{unseen(checkFunction, err)}
	}
	timeout := ofSeconds(f.Timeout)
	findings := []Finding{{checkFunction, OK, "timeout " + seconds(timeout)}}
	var variables map[string]string
	if f.Environment != nil {
		variables = f.Environment.Variables
	}
	findings = append(findings, p.variable(variables))
	findings = append(findings, environment(variables)...)
	findings = append(findings, p.gateways(ctx, client, timeout)...)
	return append(findings, p.sources(ctx, client, timeout)...)
}

// variable looks for the table in the environment of the function, by name or by ARN.
func (p *Patient) variable(variables map[string]string) Finding {
	name := func(table string) string { return table[strings.LastIndex(table, "/")+1:] }
	for _, variable := range slices.Sorted(maps.Keys(variables)) {
		if variables[variable] != "" && name(variables[variable]) == name(p.Table) {
			return Finding{checkVariable, OK, variable}
		}
	}
	return Finding{checkVariable, Warning, fmt.Sprintf("no variable of its environment is %q", p.Table)}
}

// environment looks for a retention in the environment of the function, which only a convention can
// name.
func environment(variables map[string]string) (findings []Finding) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !strings.Contains(strings.ToUpper(name), "RETENTION") {
			continue
		}
		d, err := time.ParseDuration(variables[name])
		if n, notANumber := strconv.Atoi(variables[name]); notANumber == nil {
			d, err = time.Duration(n)*time.Second, nil
		}
		switch {
		case err != nil:
			findings = append(findings,
				Finding{checkEnvironment, NotChecked, name + " is neither a duration nor a number of seconds"})
		case d < shortestUsual:
			findings = append(findings,
				Finding{checkEnvironment, Warning,
					fmt.Sprintf("%s is %s: whoever retries later executes again", name, d)})
		default:
			findings = append(findings, Finding{checkEnvironment, OK, fmt.Sprintf("%s is %s", name, d)})
		}
	}
	return findings
}
