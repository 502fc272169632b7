package gateway

import (
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// httpAPI is an HTTP API with payload format 2.0. It sends header names in lower case, and joins
// the values of a repeated header with commas.
var httpAPI = kind{
	of:       "an HTTP API with payload format 2.0",
	event:    reflect.TypeFor[events.APIGatewayV2HTTPRequest](),
	response: reflect.TypeFor[events.APIGatewayV2HTTPResponse](),
	members: slices.Concat(membersOfFormat2, []member{
		{"routeKey", partRoute},
		{"requestContext.stage", partStage},
		{"requestContext.authorizer.jwt.claims.iss", partIssuer},
		{"requestContext.authorizer.jwt.claims.sub", partSubject},
		{"requestContext.authorizer.lambda.principalId", partPrincipal},
		{"requestContext.authorizer.iam.cognitoIdentity.identityId", partIdentity},
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
		{"requestContext.domainName", partDomain},
		{"requestContext.domainPrefix", partDomainPrefix},
	}),
	request: requestFunctionURL,
	ends:    []string{`,"cookies":null}`, `]}`},
}

var membersOfFormat2 = slices.Concat(membersOfAll, []member{
	{"requestContext.http.method", partMethod},
	{"rawPath", partPath},
	{"requestContext.apiId", partAPI},
	{"requestContext.requestId", partRequestID},
	{"rawQueryString", partRawQuery},
	{"requestContext.authorizer.iam.accountId", partAccount},
	{"requestContext.authorizer.iam.userId", partUser},
	{"requestContext.authorizer.iam.userArn", partUserARN},
	{"requestContext.authorizer", partAuthorizer},
})

// defaultStage is the stage in the event of every function URL. The type of package events has no
// field for it. With this stage, a handler with the types of an HTTP API finds the same records as
// one with the types of a function URL. An HTTP API leaves it out of its paths.
const defaultStage = "$default"

// requestHTTPAPI takes the method off the route: "POST /charges/{id}"; "$default" has no space and
// becomes empty.
func requestHTTPAPI(r *Request) {
	_, r.Route, _ = strings.Cut(r.Route, " ")
	if r.Stage != "" && r.Stage != defaultStage {
		r.prefix = "/" + r.Stage
	}
}

// requestFunctionURL takes the id of the URL for the API. It refuses the event of an HTTP API, of
// which the type leaves out route, stage and authorizer, and tells it by its domain. The domain of
// a function URL begins with the id of the URL. The domain of an HTTP API begins with the id of the
// API only under execute-api.
func requestFunctionURL(r *Request) {
	r.Stage = defaultStage
	prefix := r.event.text[partDomainPrefix]
	if strings.Contains(r.event.text[partDomain], ".execute-api.") || r.API != "" && prefix != "" && r.API != prefix {
		r.Refusal = errHTTPAPI
	}
}
