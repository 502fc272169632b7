package doctor

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// The checks of a function.
const (
	checkFunction = "function"
	checkVariable = "function names the table"
	checkGateway  = "timeout and gateway"
	checkBatches  = "event sources"
	checkCallers  = "callers"
)

func (p *Patient) function(ctx context.Context) {
	client := lambda.NewFromConfig(p.Config)
	f, err := client.GetFunctionConfiguration(ctx,
		&lambda.GetFunctionConfigurationInput{FunctionName: aws.String(p.Function)})
	if err != nil {
		p.unseen(checkFunction, err)
		return
	}
	timeout := ofSeconds(f.Timeout)
	p.Found(checkFunction, OK, "timeout %s", seconds(timeout))
	var variables map[string]string
	if f.Environment != nil {
		variables = f.Environment.Variables
	}
	p.variable(variables)
	p.gateways(ctx, client, timeout)
	p.sources(ctx, client, timeout)
}

// variable looks for the table in the environment of the function, by name or by ARN.
func (p *Patient) variable(variables map[string]string) {
	name := func(table string) string { return table[strings.LastIndex(table, "/")+1:] }
	for _, variable := range slices.Sorted(maps.Keys(variables)) {
		if variables[variable] != "" && name(variables[variable]) == name(p.Table) {
			p.Found(checkVariable, OK, "%s", variable)
			return
		}
	}
	p.Found(checkVariable, Warning, "no variable of its environment is %q", p.Table)
}
