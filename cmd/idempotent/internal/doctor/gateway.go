package doctor

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	apitypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// What gateways wait for a function if nothing else is set. A Regional REST API may wait longer.
// See https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html and
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html.
const (
	waitOfHTTPAPI = 30 * time.Second
	waitOfRESTAPI = 29 * time.Second
)

// apiOf finds the id of an API in the ARNs of a policy:
// arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH.
var apiOf = regexp.MustCompile(`:execute-api:[^:"]*:[^:"]*:([a-z0-9]+)`)

// gateways compares the timeout of the function with what its gateways wait, and looks whom they
// know their callers by. Who may call it, its policy tells.
func (p *Patient) gateways(ctx context.Context, client *lambda.Client, timeout time.Duration) []Finding {
	out, err := client.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String(p.Function)})
	if _, none := errors.AsType[*lambdatypes.ResourceNotFoundException](err); none {
		return []Finding{found(checkGateway, NotChecked,
			"its policy lets no gateway call it; one that uses a role cannot be seen from here")}
	}
	if err != nil {
		return []Finding{unseen(checkGateway, err)}
	}
	policy := aws.ToString(out.Policy)
	var findings []Finding
	var apis []string
	for _, match := range apiOf.FindAllStringSubmatch(policy, -1) {
		if !slices.Contains(apis, match[1]) {
			apis = append(apis, match[1])
			findings = append(findings, p.api(ctx, match[1], timeout)...)
		}
	}
	if strings.Contains(policy, "InvokeFunctionUrl") && strings.Contains(policy, `"AWS_IAM"`) {
		findings = append(findings, sharedRoles("its URL"))
	}
	if strings.Contains(policy, "elasticloadbalancing") {
		findings = append(findings, found(checkGateway, NotChecked,
			"a load balancer calls it: its idle timeout has to be more than %s", seconds(timeout)))
	}
	// a URL waits as long as the function runs
	if len(findings) == 0 && !strings.Contains(policy, "InvokeFunctionUrl") {
		return []Finding{{checkGateway, NotChecked, "its policy names no gateway"}}
	}
	return findings
}

// sharedRoles is about people whom IAM knows by a role alone.
func sharedRoles(what string) Finding {
	return Finding{checkCallers, Warning, what + " authorizes by IAM: people who share a federated role (SAML, OIDC) " +
		"count as one caller, unless their sessions are named by e-mail addresses; WithTenant tells them apart"}
}

// api looks at one API, whose kind its id does not tell.
func (p *Patient) api(ctx context.Context, api string, timeout time.Duration) (findings []Finding) {
	i, err := p.httpAPI(ctx, api)
	kind := "HTTP API "
	if _, missing := errors.AsType[*v2types.NotFoundException](err); missing {
		i, err = p.restAPI(ctx, api)
		kind = "REST API "
	}
	if i.byIAM {
		findings = append(findings, sharedRoles(kind+api))
	}
	return append(findings, waiting(kind+api, i, err, timeout))
}

// integrations are those of an API with the function.
type integrations struct {
	waits []time.Duration
	// streams: one streams the responses of the function. byIAM: IAM authorizes the callers of one.
	streams, byIAM bool
}

// waiting compares the timeout with the time limits of the integrations of an API.
func waiting(api string, i integrations, err error, timeout time.Duration) Finding {
	switch {
	case err != nil:
		return unseen(checkGateway, err)
	case len(i.waits) == 0:
		return found(checkGateway, NotChecked, "%s has no integration with it that can be seen", api)
	case i.streams:
		return found(checkGateway, Problem, "%s streams the responses of the function (ResponseTransferMode is "+
			"STREAM), and a wrapped handler answers with a whole one, which the API does not understand: set it to "+
			"BUFFERED", api)
	}
	wait := slices.Min(i.waits)
	if timeout >= wait {
		return found(checkGateway, Problem, "%s waits %s, and the function may run for %s: clients get an error while "+
			"it goes on, and their retries meet a running execution", api, seconds(wait), seconds(timeout))
	}
	return found(checkGateway, OK, "%s waits %s, the function stops after %s", api, seconds(wait), seconds(timeout))
}

func (p *Patient) httpAPI(ctx context.Context, api string) (of integrations, err error) {
	client := apigatewayv2.NewFromConfig(p.Config)
	in := &apigatewayv2.GetIntegrationsInput{ApiId: aws.String(api)}
	targets := make(map[string]bool)
	for more := true; more; more = aws.ToString(in.NextToken) != "" {
		out, err := client.GetIntegrations(ctx, in)
		if err != nil {
			return of, err
		}
		for _, i := range out.Items {
			if p.isFunction(aws.ToString(i.IntegrationUri)) {
				of.waits = append(of.waits, waitOf(aws.ToInt32(i.TimeoutInMillis), waitOfHTTPAPI))
				targets["integrations/"+aws.ToString(i.IntegrationId)] = true
			}
		}
		in.NextToken = out.NextToken
	}
	routes := &apigatewayv2.GetRoutesInput{ApiId: aws.String(api)}
	for more := true; more; more = aws.ToString(routes.NextToken) != "" {
		out, err := client.GetRoutes(ctx, routes)
		if err != nil {
			return of, err
		}
		for _, r := range out.Items {
			byIAM := r.AuthorizationType == v2types.AuthorizationTypeAwsIam
			of.byIAM = of.byIAM || byIAM && targets[aws.ToString(r.Target)]
		}
		routes.NextToken = out.NextToken
	}
	return of, nil
}

func (p *Patient) restAPI(ctx context.Context, api string) (of integrations, err error) {
	pages := apigateway.NewGetResourcesPaginator(apigateway.NewFromConfig(p.Config), &apigateway.GetResourcesInput{
		RestApiId: aws.String(api), Embed: []string{"methods"}, Limit: aws.Int32(500),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return of, err
		}
		for _, resource := range page.Items {
			for _, method := range resource.ResourceMethods {
				if i := method.MethodIntegration; i != nil && p.isFunction(aws.ToString(i.Uri)) {
					of.waits = append(of.waits, waitOf(i.TimeoutInMillis, waitOfRESTAPI))
					of.streams = of.streams || i.ResponseTransferMode == apitypes.ResponseTransferModeStream
					of.byIAM = of.byIAM || aws.ToString(method.AuthorizationType) == "AWS_IAM"
				}
			}
		}
	}
	return of, nil
}

func waitOf(milliseconds int32, usual time.Duration) time.Duration {
	if milliseconds == 0 {
		return usual
	}
	return time.Duration(milliseconds) * time.Millisecond
}

// isFunction reports whether the URI of an integration is that of the function, in any version and
// with any alias.
func (p *Patient) isFunction(uri string) bool {
	// The Lambda API takes a name, an ARN, or a part of one.
	name := func(function string) string {
		_, rest, is := strings.Cut(function, "function:")
		if !is {
			rest = function
		}
		if end := strings.IndexAny(rest, "/:"); end >= 0 {
			rest = rest[:end]
		}
		return rest
	}
	return strings.Contains(uri, ":function:") && name(uri) == name(p.Function)
}
