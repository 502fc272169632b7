package gateway

import (
	"reflect"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// restAPI is a REST API, or an HTTP API with payload format 1.0, which fills the authorizer with
// nulls where a route has none. The principal of a Lambda authorizer is in one map with its
// context.
var restAPI = kind{
	of:       "a REST API, or of an HTTP API with payload format 1.0,",
	event:    reflect.TypeFor[events.APIGatewayProxyRequest](),
	response: reflect.TypeFor[events.APIGatewayProxyResponse](),
	members: slices.Concat(membersOfFormat1, []member{
		{"resource", partRoute},
		{"requestContext.apiId", partAPI},
		{"requestContext.stage", partStage},
		{"requestContext.requestId", partRequestID},
		{"requestContext.authorizer.claims.iss", partIssuer},
		{"requestContext.authorizer.claims.sub", partSubject},
		{"requestContext.authorizer.principalId", partPrincipal},
		{"requestContext.identity.cognitoIdentityId", partIdentity},
		{"requestContext.identity.accountId", partAccount},
		{"requestContext.identity.caller", partUser},
		{"requestContext.identity.userArn", partUserARN},
		{"requestContext.authorizer", partAuthorizerMap},
		{"requestContext.identity.apiKeyId", partAPIKey},
	}),
	request: requestRESTAPI,
	ends:    []string{`"}`, `,"isBase64Encoded":true}`},
}

// loadBalancer is an Application Load Balancer.
//
// It names no caller. A listener rule that authenticates adds the header x-amzn-oidc-identity, but
// where no rule does, the load balancer passes on that header as any client sends it.
var loadBalancer = kind{
	of:       "a load balancer",
	event:    reflect.TypeFor[events.ALBTargetGroupRequest](),
	response: reflect.TypeFor[events.ALBTargetGroupResponse](),
	members:  slices.Concat(membersOfFormat1, []member{{"requestContext.elb.targetGroupArn", partAPI}}),
	request:  requestALB,
}

// membersOfFormat1 are those of payload format 1.0, as far as load balancers have them, too.
var membersOfFormat1 = slices.Concat(membersOfAll, []member{
	{"httpMethod", partMethod},
	{"path", partPath},
	{"queryStringParameters", partQuery},
	{"multiValueQueryStringParameters", partMultiQuery},
	{"multiValueHeaders", partMultiHeaders},
})

// requestRESTAPI refuses the event of a load balancer. That has a method too, but neither API nor
// resource, so two load balancers would share a scope.
func requestRESTAPI(r *Request) {
	if r.API == "" && r.Route == "" && r.forwarded() {
		r.Refusal = errNoAPI
	}
}

// requestALB takes the target group for the API, and the trace id for the request id, because
// access logs know the request by it. A load balancer has no routes, and sends the fields of a
// query as it got them: a REST API decodes them. It reads the headers of an answer in the form in
// which it sent those of the request.
//
// The event of a REST API is refused. It has a method too, but no target group, so two stages would
// share a scope.
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
		r.Refusal = errNoTargetGroup
	}
}
