package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	apitypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
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
func (p *Patient) gateways(ctx context.Context, client *lambda.Client, timeout time.Duration) {
	out, err := client.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String(p.Function)})
	if _, none := errors.AsType[*lambdatypes.ResourceNotFoundException](err); none {
		p.Found(checkGateway, NotChecked,
			"its policy lets no gateway call it; one that uses a role cannot be seen from here")
		return
	}
	if err != nil {
		p.unseen(checkGateway, err)
		return
	}
	before, policy := len(p.Findings), aws.ToString(out.Policy)
	byURL := strings.Contains(policy, "InvokeFunctionUrl")
	var apis []string
	for _, match := range apiOf.FindAllStringSubmatch(policy, -1) {
		if !slices.Contains(apis, match[1]) {
			apis = append(apis, match[1])
			p.api(ctx, match[1], timeout)
		}
	}
	if byURL && strings.Contains(policy, `"AWS_IAM"`) {
		p.sharedRoles("its URL")
	}
	if strings.Contains(policy, "elasticloadbalancing") {
		p.Found(checkGateway, NotChecked, "a load balancer calls it: its idle timeout has to be more than %s",
			seconds(timeout))
	}
	if len(p.Findings) == before && !byURL { // a URL waits as long as the function runs
		p.Found(checkGateway, NotChecked, "its policy names no gateway")
	}
}

// sharedRoles is about people whom IAM knows by a role alone.
func (p *Patient) sharedRoles(what string) {
	p.Found("callers", Warning, "%s authorizes by IAM: people who share a federated role (SAML, OIDC) count as one "+
		"caller, unless their sessions are named by e-mail addresses; WithTenant tells them apart", what)
}

// api looks at one API, whose kind its id does not tell: it compares the timeout with the time
// limits of its integrations.
func (p *Patient) api(ctx context.Context, id string, timeout time.Duration) {
	i, err := p.httpAPI(ctx, id)
	api := "HTTP API " + id
	if _, missing := errors.AsType[*v2types.NotFoundException](err); missing {
		i, err = p.restAPI(ctx, id)
		api = "REST API " + id
	}
	if i.byIAM {
		p.sharedRoles(api)
	}
	switch {
	case err != nil:
		p.unseen(checkGateway, err)
	case len(i.waits) == 0:
		p.Found(checkGateway, NotChecked, "%s has no integration with it that can be seen", api)
	case i.streams:
		p.Found(checkGateway, Problem, "%s streams the responses of the function (ResponseTransferMode is STREAM), and "+
			"a wrapped handler answers with a whole one, which the API does not understand: set it to BUFFERED", api)
	case timeout >= slices.Min(i.waits):
		p.Found(checkGateway, Problem, "%s waits %s, and the function may run for %s: clients get an error while it "+
			"goes on, and their retries meet a running execution", api, seconds(slices.Min(i.waits)), seconds(timeout))
	default:
		p.Found(checkGateway, OK, "%s waits %s, the function stops after %s", api, seconds(slices.Min(i.waits)),
			seconds(timeout))
	}
}

// integrations are those of an API with the function.
type integrations struct {
	waits []time.Duration
	// streams: one streams the responses of the function. byIAM: IAM authorizes the callers of one.
	streams, byIAM bool
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
				of.waits = append(of.waits, cmp.Or(ofMillis(aws.ToInt32(i.TimeoutInMillis)), waitOfHTTPAPI))
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
					of.waits = append(of.waits, cmp.Or(ofMillis(i.TimeoutInMillis), waitOfRESTAPI))
					of.streams = of.streams || i.ResponseTransferMode == apitypes.ResponseTransferModeStream
					of.byIAM = of.byIAM || aws.ToString(method.AuthorizationType) == "AWS_IAM"
				}
			}
		}
	}
	return of, nil
}

// isFunction reports whether the URI of an integration is that of any version of the function.
func (p *Patient) isFunction(uri string) bool {
	name := func(function string) string { return functionName.FindStringSubmatch(function)[1] }
	return strings.Contains(uri, ":function:") && name(uri) == name(p.Function)
}

// functionName finds the name of a function: the Lambda API takes a name, an ARN, or a part of one.
var functionName = regexp.MustCompile(`^(?:.*?function:)?([^/:]*)`)

const (
	checkFunction = "function"
	checkVariable = "function names the table"
	checkGateway  = "timeout and gateway"
	checkBatches  = "event sources"
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

// The checks of the queues and streams that call a function. See
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html,
// https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html.
const (
	checkVisibility  = "queue: visibility timeout"
	checkRedrive     = "queue: dead-letter queue"
	checkDestination = "stream: on-failure destination"
)

// sources looks at the queues and streams that call the function.
func (p *Patient) sources(ctx context.Context, client *lambda.Client, timeout time.Duration) {
	before := len(p.Findings)
	pages := lambda.NewListEventSourceMappingsPaginator(client,
		&lambda.ListEventSourceMappingsInput{FunctionName: aws.String(p.Function)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			p.unseen(checkBatches, err)
			return
		}
		for _, m := range page.EventSourceMappings {
			// arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE
			parts := strings.SplitN(aws.ToString(m.EventSourceArn)+":::::", ":", 6)
			s := source{p, m, strings.Trim(parts[5], ":")}
			if path := strings.Split(s.name, "/"); len(path) > 1 {
				s.name = path[1] // of table/NAME/stream/LABEL
			}
			switch parts[2] {
			case "sqs":
				s.responses("sends its whole batch again")
				s.queue(ctx, parts[4], timeout)
			case "kinesis", "dynamodb":
				s.responses("repeats its whole batch")
				s.destination()
			default:
				s.found(checkBatches, NotChecked, "it is no queue of SQS and no stream of Kinesis or DynamoDB")
			}
		}
	}
	if len(p.Findings) == before {
		p.Found(checkBatches, OK, "no queue and no stream calls it")
	}
}

// source is one queue or stream that calls a function.
type source struct {
	*Patient

	mapping lambdatypes.EventSourceMappingConfiguration
	name    string
}

// found adds what came of a check of the source.
func (s source) found(check string, r Result, detail string, args ...any) {
	s.Found(check, r, "%s", strings.TrimSuffix(s.name+": "+fmt.Sprintf(detail, args...), ": "))
}

// responses looks whether Lambda reads which records of a batch have failed. A function that says
// so, as one of package batch does, loses them where Lambda does not read it, also if each batch is
// of one record.
func (s source) responses(whole string) {
	switch {
	case slices.Contains(s.mapping.FunctionResponseTypes, lambdatypes.FunctionResponseTypeReportBatchItemFailures):
		s.found(checkBatches, OK, "")
	case aws.ToInt32(s.mapping.BatchSize) == 1:
		s.found(checkBatches, Problem,
			"ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success")
	default:
		s.found(checkBatches, Problem, "ReportBatchItemFailures is off, so one failed record %s, and failures "+
			"that the function answers with are taken for a success", whole)
	}
}

func (s source) queue(ctx context.Context, account string, timeout time.Duration) {
	client := sqs.NewFromConfig(s.Config)
	var out *sqs.GetQueueAttributesOutput
	url, err := client.GetQueueUrl(ctx,
		&sqs.GetQueueUrlInput{QueueName: aws.String(s.name), QueueOwnerAWSAccountId: aws.String(account)})
	if err == nil {
		out, err = client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url.QueueUrl,
			AttributeNames: []sqstypes.QueueAttributeName{
				sqstypes.QueueAttributeNameVisibilityTimeout,
				sqstypes.QueueAttributeNameRedrivePolicy,
			},
		})
	}
	if err != nil {
		s.found(checkVisibility, NotChecked, "%s", reason(err))
		return
	}
	s.visibility(out.Attributes, timeout)
	s.redrive(out.Attributes)
}

// visibility compares for how long a message that was received stays invisible with what its batch
// may take: AWS recommends six timeouts of the function.
func (s source) visibility(attributes map[string]string, timeout time.Duration) {
	n, err := strconv.Atoi(attributes[string(sqstypes.QueueAttributeNameVisibilityTimeout)])
	visible := time.Duration(n) * time.Second
	switch need := 6*timeout + ofSeconds(s.mapping.MaximumBatchingWindowInSeconds); {
	case err != nil:
		s.found(checkVisibility, NotChecked, "its visibility timeout is no number")
	case visible < need:
		s.found(checkVisibility, Problem, "messages are invisible for %s, which has to be %s (6 times the timeout and "+
			"the batching window): they are delivered again while they are handled", seconds(visible), seconds(need))
	default:
		s.found(checkVisibility, OK, "%s", seconds(visible))
	}
}

// redrive looks whether a message that always fails ends somewhere, and not before it was received
// five times, as AWS recommends.
func (s source) redrive(attributes map[string]string) {
	text := attributes[string(sqstypes.QueueAttributeNameRedrivePolicy)]
	var policy struct {
		MaxReceiveCount json.Number // a number, or a text with one
	}
	err := json.Unmarshal([]byte(text), &policy)
	receives, notANumber := policy.MaxReceiveCount.Int64()
	switch {
	case text == "":
		s.found(checkRedrive, Problem,
			"there is none: a message that always fails comes again until the queue forgets it, and then it is lost")
	case err != nil || notANumber != nil:
		s.found(checkRedrive, NotChecked, "its redrive policy cannot be read")
	case receives < 5:
		s.found(checkRedrive, Warning, "maxReceiveCount is %d, which has to be %d: throttled invocations and "+
			"keys in progress count, too, so messages get there that nothing is wrong with", receives, 5)
	default:
		s.found(checkRedrive, OK, "after %d receives", receives)
	}
}

func (s source) destination() {
	if to := s.mapping.DestinationConfig; to == nil || to.OnFailure == nil ||
		aws.ToString(to.OnFailure.Destination) == "" {
		s.found(checkDestination, Problem, "there is none: nothing tells which records were given up")
	} else {
		s.found(checkDestination, OK, "")
	}
}
