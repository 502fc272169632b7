package gateway

import (
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// restAPI is a REST API, or an HTTP API with payload format 1.0.
var restAPI = kind[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]{
	of:      "a REST API, or of an HTTP API with payload format 1.0,",
	members: membersOfRESTAPI, request: requestRESTAPI, parts: partsRESTAPI, with: withRESTAPI,
	ends: []string{`"}`, `,"isBase64Encoded":true}`},
}

// membersOfRESTAPI are also those of an HTTP API, which fills the authorizer with nulls where a
// route has none. The principal of a Lambda authorizer is in one map with its context.
var membersOfRESTAPI = slices.Concat(membersOfAll, membersOfFormat1, []member{
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
})

// membersOfFormat1 are in the same place in the events of load balancers.
var membersOfFormat1 = []member{
	{"httpMethod", partMethod},
	{"path", partPath},
	{"queryStringParameters", partQuery},
	{"multiValueQueryStringParameters", partMultiQuery},
	{"multiValueHeaders", partMultiHeaders},
}

// requestRESTAPI refuses the event of a load balancer. That has a method too, but neither API nor
// resource, so two load balancers would share a scope.
func requestRESTAPI(r *Request) {
	e := &r.event
	r.Route = template(e.text[partRoute])
	r.query = queryOf(e.query, e.multiQuery)
	if r.API == "" && e.text[partRoute] == "" && r.forwarded() {
		r.Refusal = errNoAPI
	}
}

func partsRESTAPI(r events.APIGatewayProxyResponse) response {
	return response{status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, body: r.Body}
}

func withRESTAPI(out events.APIGatewayProxyResponse, r response) events.APIGatewayProxyResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders = r.headers, r.multi
	return out
}
