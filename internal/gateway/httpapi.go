package gateway

import (
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// httpAPI is an HTTP API with payload format 2.0. It sends header names in lower case, and joins
// the values of a repeated header with commas.
var httpAPI = kind[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]{
	of:      "an HTTP API with payload format 2.0",
	members: membersOfHTTPAPI, request: requestHTTPAPI, parts: partsHTTPAPI, with: withHTTPAPI,
	ends: []string{`,"cookies":null}`, `]}`},
}

var membersOfHTTPAPI = slices.Concat(membersOfAll, membersOfFormat2, []member{
	{"routeKey", partRoute},
	{"requestContext.stage", partStage},
	{"requestContext.authorizer.jwt.claims.iss", partIssuer},
	{"requestContext.authorizer.jwt.claims.sub", partSubject},
	{"requestContext.authorizer.lambda.principalId", partPrincipal},
	{"requestContext.authorizer.iam.cognitoIdentity.identityId", partIdentity},
})

// membersOfFormat2 are in the same place in the events of function URLs.
var membersOfFormat2 = []member{
	{"requestContext.http.method", partMethod},
	{"rawPath", partPath},
	{"requestContext.apiId", partAPI},
	{"requestContext.requestId", partRequestID},
	{"rawQueryString", partRawQuery},
	{"requestContext.authorizer.iam.accountId", partAccount},
	{"requestContext.authorizer.iam.userId", partUser},
	{"requestContext.authorizer.iam.userArn", partUserARN},
	{"requestContext.authorizer", partAuthorizer},
}

func requestHTTPAPI(r *Request) {
	e := &r.event
	// "POST /charges/{id}"; "$default" has no space and becomes empty
	_, route, _ := strings.Cut(e.text[partRoute], " ")
	r.Route = template(route)
	if r.Stage != "" && r.Stage != defaultStage {
		r.prefix = "/" + r.Stage
	}
	r.query = parseQuery(e.text[partRawQuery])
}

func partsHTTPAPI(r events.APIGatewayV2HTTPResponse) response {
	return response{
		status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, cookies: r.Cookies, body: r.Body,
	}
}

func withHTTPAPI(out events.APIGatewayV2HTTPResponse, r response) events.APIGatewayV2HTTPResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders, out.Cookies = r.headers, r.multi, r.cookies
	return out
}
