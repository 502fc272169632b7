package gateway

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// restAPI is a REST API, or an HTTP API with payload format 1.0, which fills the authorizer with
// nulls where a route has none. A Lambda authorizer's principal is in one map with its context.
var restAPI = kind{
	of:       "a REST API, or of an HTTP API with payload format 1.0,",
	event:    reflect.TypeFor[events.APIGatewayProxyRequest](),
	response: reflect.TypeFor[events.APIGatewayProxyResponse](),
	members: slices.Concat(membersOfFormat1, []member{
		{"Resource", partRoute},
		{"RequestContext.APIID", partAPI},
		{"RequestContext.Stage", partStage},
		{"RequestContext.RequestID", partRequestID},
		{"RequestContext.Authorizer.claims.iss", partIssuer},
		{"RequestContext.Authorizer.claims.sub", partSubject},
		{"RequestContext.Authorizer.principalId", partPrincipal},
		{"RequestContext.Identity.CognitoIdentityID", partIdentity},
		{"RequestContext.Identity.AccountID", partAccount},
		{"RequestContext.Identity.Caller", partUser},
		{"RequestContext.Identity.UserArn", partUserARN},
		{"RequestContext.Authorizer", partAuthorizerMap},
		{"RequestContext.Identity.APIKeyID", partAPIKey},
	}),
	request: requestRESTAPI,
	ends:    []string{`"}`, `,"isBase64Encoded":true}`},
}

// loadBalancer is an Application Load Balancer. It names no caller: a listener rule that
// authenticates sets the header x-amzn-oidc-identity, but without such a rule any client can.
var loadBalancer = kind{
	of:       "a load balancer",
	event:    reflect.TypeFor[events.ALBTargetGroupRequest](),
	response: reflect.TypeFor[events.ALBTargetGroupResponse](),
	members:  slices.Concat(membersOfFormat1, []member{{"RequestContext.ELB.TargetGroupArn", partAPI}}),
	request:  requestALB,
}

// membersOfFormat1 are those of payload format 1.0, as far as load balancers have them, too.
var membersOfFormat1 = slices.Concat(membersOfAll, []member{
	{"HTTPMethod", partMethod},
	{"Path", partPath},
	{"QueryStringParameters", partQuery},
	{"MultiValueQueryStringParameters", partMultiQuery},
	{"MultiValueHeaders", partMultiHeaders},
})

// requestRESTAPI refuses the event of a load balancer, which has a method too. It has neither API
// nor resource, so two load balancers would share a scope.
func requestRESTAPI(r *Request) {
	if r.API == "" && r.Route == "" && r.forwarded() {
		r.Refusal = errors.New("the event has neither API nor resource; is it one of a load balancer " +
			"(events.ALBTargetGroupRequest)?")
	}
}

// requestALB takes the trace id for the request id, because access logs know the request by it. A
// load balancer sends the fields of a query as it got them, where a REST API decodes them. It reads
// the headers of an answer in the form in which it sent those of the request. The event of a REST
// API, which has a method too, is refused: without a target group, two stages would share a scope.
func requestALB(r *Request) {
	if trace := r.Header(httpfield.TraceID); len(trace) > 0 {
		r.RequestID = trace[0]
	}
	if sent := slices.Clone(r.query.fields); !r.query.decode() {
		// The text tells it apart from a query that decodes into these fields.
		r.query = query{fields: sent, opaque: "undecoded"}
	}
	r.answerIn = singleMap
	if r.event.hasMulti {
		r.answerIn = multiMap
	}
	if r.API == "" && r.forwarded() {
		r.Refusal = errors.New("the event has no target group; is it one of a REST API " +
			"(events.APIGatewayProxyRequest)?")
	}
}

// httpAPI is an HTTP API with payload format 2.0. It sends header names in lower case, and joins
// the values of a repeated header with commas.
var httpAPI = kind{
	of:       "an HTTP API with payload format 2.0",
	event:    reflect.TypeFor[events.APIGatewayV2HTTPRequest](),
	response: reflect.TypeFor[events.APIGatewayV2HTTPResponse](),
	members: slices.Concat(membersOfFormat2, []member{
		{"RouteKey", partRoute},
		{"RequestContext.Stage", partStage},
		{"RequestContext.Authorizer.JWT.Claims.iss", partIssuer},
		{"RequestContext.Authorizer.JWT.Claims.sub", partSubject},
		{"RequestContext.Authorizer.Lambda.principalId", partPrincipal},
		{"RequestContext.Authorizer.IAM.CognitoIdentity.IdentityID", partIdentity},
	}),
	request: requestHTTPAPI,
	ends:    []string{`,"cookies":null}`, `]}`},
}

// functionURL is a function URL. Its events have payload format 2.0 without routes.
var functionURL = kind{
	of:       "a function URL",
	event:    reflect.TypeFor[events.LambdaFunctionURLRequest](),
	response: reflect.TypeFor[events.LambdaFunctionURLResponse](),
	members: slices.Concat(membersOfFormat2, []member{
		{"RequestContext.DomainName", partDomain},
		{"RequestContext.DomainPrefix", partDomainPrefix},
	}),
	request: requestFunctionURL,
	ends:    []string{`,"cookies":null}`, `]}`},
}

var membersOfFormat2 = slices.Concat(membersOfAll, []member{
	{"RequestContext.HTTP.Method", partMethod},
	{"RawPath", partPath},
	{"RequestContext.APIID", partAPI},
	{"RequestContext.RequestID", partRequestID},
	{"RawQueryString", partRawQuery},
	{"RequestContext.Authorizer.IAM.AccountID", partAccount},
	{"RequestContext.Authorizer.IAM.UserID", partUser},
	{"RequestContext.Authorizer.IAM.UserARN", partUserARN},
	{"RequestContext.Authorizer", partAuthorizer},
})

// defaultStage is the stage in the event of every function URL, for which the type of package
// events has no field. So a handler with the types of an HTTP API finds the same records as one
// with the types of a function URL. An HTTP API leaves it out of its paths.
const defaultStage = "$default"

// requestHTTPAPI takes the method off the route: "POST /charges/{id}"; "$default" has no space and
// becomes empty.
func requestHTTPAPI(r *Request) {
	_, r.Route, _ = strings.Cut(r.Route, " ")
	if r.Stage != "" && r.Stage != defaultStage {
		r.prefix = "/" + r.Stage
	}
}

// requestFunctionURL refuses the event of an HTTP API, of which the type leaves out route, stage
// and authorizer, and tells it by its domain. The domain of a function URL begins with the id of
// the URL, which stands for the API. That of an HTTP API begins with its id only under execute-api.
func requestFunctionURL(r *Request) {
	r.Stage = defaultStage
	prefix := r.event.text[partDomainPrefix]
	if strings.Contains(r.event.text[partDomain], ".execute-api.") || r.API != "" && prefix != "" && r.API != prefix {
		r.Refusal = errors.New("the event is of no function URL; is it one of an HTTP API " +
			"(events.APIGatewayV2HTTPRequest)?")
	}
}
