package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// What gateways wait for a function if nothing else is set. See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html and
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html.
const (
	waitOfHTTPAPI = 30 * time.Second
	waitOfRESTAPI = 29 * time.Second
)

// gateways compares the timeout of the function with what its gateways wait.
func (p *Patient) gateways(ctx context.Context, timeout time.Duration) []Finding {
	out, err := p.Lambda.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String(p.Function)})
	var none *lambdatypes.ResourceNotFoundException
	switch {
	case errors.As(err, &none):
		return []Finding{{checkGateway, NotChecked, "its policy lets no gateway call it; one that uses a role cannot be seen from here"}}
	case err != nil:
		return []Finding{unseen(checkGateway, err)}
	}
	callers, err := callersOf(aws.ToString(out.Policy))
	if err != nil {
		return []Finding{{checkGateway, NotChecked, "its policy cannot be read: " + err.Error()}}
	}
	var findings []Finding
	for _, api := range callers.apis {
		findings = append(findings, p.api(ctx, api, timeout))
	}
	if callers.loadBalancer {
		findings = append(findings, Finding{
			checkGateway, NotChecked,
			"a load balancer calls it: its idle timeout has to be more than " + seconds(timeout),
		})
	}
	if callers.url {
		findings = append(findings, Finding{checkGateway, OK, "a function URL waits as long as the function runs"})
	}
	if len(findings) == 0 {
		return []Finding{{checkGateway, NotChecked, "its policy names no gateway"}}
	}
	return findings
}

// callers are the gateways that may call a function.
type callers struct {
	apis              []string
	loadBalancer, url bool
}

// callersOf reads the policy of a function.
func callersOf(policy string) (c callers, err error) {
	var document struct {
		Statement []struct {
			Action    any
			Principal any
			Condition map[string]map[string]any
		}
	}
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return c, err
	}
	for _, s := range document.Statement {
		principal, action := text(s.Principal), text(s.Action)
		c.loadBalancer = c.loadBalancer || strings.Contains(principal, "elasticloadbalancing")
		c.url = c.url || strings.Contains(action, "InvokeFunctionUrl")
		if !strings.Contains(principal, "apigateway") {
			continue
		}
		for _, condition := range s.Condition {
			for _, value := range condition {
				if api := apiOf(text(value)); api != "" && !slices.Contains(c.apis, api) {
					c.apis = append(c.apis, api)
				}
			}
		}
	}
	return c, nil
}

// text is a value of a policy, which may be a text, a list or an object.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v) //nolint:errchkjson // it was read from JSON
	return string(b)
}

// apiOf is the id of the API in arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH.
func apiOf(source string) string {
	_, rest, ok := strings.Cut(source, ":execute-api:")
	if !ok {
		return ""
	}
	parts := strings.SplitN(rest, ":", 3)
	if len(parts) < 3 {
		return ""
	}
	api, _, _ := strings.Cut(parts[2], "/")
	return strings.Trim(api, "*")
}

// api compares the timeout with that of the integrations of one API, whose kind its id does not tell.
func (p *Patient) api(ctx context.Context, api string, timeout time.Duration) Finding {
	waits, err := p.httpAPI(ctx, api)
	kind := "HTTP API "
	if _, missing := errors.AsType[*v2types.NotFoundException](err); missing {
		waits, err = p.restAPI(ctx, api)
		kind = "REST API "
	}
	switch {
	case err != nil:
		return unseen(checkGateway, err)
	case len(waits) == 0:
		return Finding{checkGateway, NotChecked, kind + api + " has no integration with it that can be seen"}
	}
	return waiting(kind+api, slices.Min(waits), timeout)
}

// waiting compares for how long a gateway waits with the timeout of the function.
func waiting(gateway string, wait, timeout time.Duration) Finding {
	if timeout >= wait {
		return Finding{checkGateway, Problem, fmt.Sprintf("%s waits %s, and the function may run for %s: clients get an error while it goes on, "+
			"and their retries meet a running execution", gateway, seconds(wait), seconds(timeout))}
	}
	return Finding{checkGateway, OK, fmt.Sprintf("%s waits %s, the function stops after %s", gateway, seconds(wait), seconds(timeout))}
}

func (p *Patient) httpAPI(ctx context.Context, api string) (waits []time.Duration, err error) {
	in := &apigatewayv2.GetIntegrationsInput{ApiId: aws.String(api)}
	for {
		out, err := p.APIGatewayV2.GetIntegrations(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, i := range out.Items {
			if p.isFunction(aws.ToString(i.IntegrationUri)) {
				waits = append(waits, waitOf(i.TimeoutInMillis, waitOfHTTPAPI))
			}
		}
		if aws.ToString(out.NextToken) == "" {
			return waits, nil
		}
		in.NextToken = out.NextToken
	}
}

func (p *Patient) restAPI(ctx context.Context, api string) (waits []time.Duration, err error) {
	pages := apigateway.NewGetResourcesPaginator(p.APIGateway, &apigateway.GetResourcesInput{
		RestApiId: aws.String(api), Embed: []string{"methods"}, Limit: aws.Int32(500),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, resource := range page.Items {
			for _, method := range resource.ResourceMethods {
				if i := method.MethodIntegration; i != nil && p.isFunction(aws.ToString(i.Uri)) {
					waits = append(waits, waitOf(&i.TimeoutInMillis, waitOfRESTAPI))
				}
			}
		}
	}
	return waits, nil
}

func waitOf(milliseconds *int32, usual time.Duration) time.Duration {
	if aws.ToInt32(milliseconds) == 0 {
		return usual
	}
	return time.Duration(*milliseconds) * time.Millisecond
}

// isFunction reports whether the URI of an integration is that of the function, in any version and with any alias.
func (p *Patient) isFunction(uri string) bool {
	_, rest, ok := strings.Cut(uri, ":function:")
	if !ok {
		return false
	}
	name := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' || r == ':' })
	return len(name) > 0 && name[0] == functionName(p.Function)
}

// functionName is the name in what the Lambda API takes: a name, or an ARN or a part of one, with an alias or version or without.
func functionName(function string) string {
	if _, rest, ok := strings.Cut(function, "function:"); ok {
		function = rest
	}
	name, _, _ := strings.Cut(function, ":")
	return name
}
