package idempotent

import (
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// membersV2 are those of an event of an HTTP API (payload format 2.0), and eventV2 reads them from one that is decoded. The
// gateway lower-cases header names and joins repeated ones with commas. The event has an authorizer only if the route
// does; one without any context is {"lambda": null}.
var membersV2 = slices.Concat(membersOfAll, membersOfFormat2, []member{
	{"routeKey", partRoute},
	{"requestContext.stage", partStage},
	{"requestContext.authorizer.jwt.claims.iss", partIssuer},
	{"requestContext.authorizer.jwt.claims.sub", partSubject},
	{"requestContext.authorizer.lambda.principalId", partPrincipal},
	{"requestContext.authorizer.iam.cognitoIdentity.identityId", partIdentity},
})

// membersOfFormat2 are those that function URLs have in the same place.
var membersOfFormat2 = []member{
	{"requestContext.http.method", partMethod},
	{"rawPath", partPath},
	{"requestContext.apiId", partAPI},
	{"requestContext.requestId", partRequestID},
	{"rawQueryString", partRawQuery},
	{"requestContext.authorizer.iam.accountId", partAccount},
	{"requestContext.authorizer.iam.userId", partUser},
}

func eventV2(e events.APIGatewayV2HTTPRequest, names []string) httpEvent {
	c := &e.RequestContext
	v := httpEvent{headers: headersIn(names, e.Headers, nil), body: []byte(e.Body), isBase64: e.IsBase64Encoded}
	v.text = [textParts]string{
		partMethod:    c.HTTP.Method,
		partPath:      e.RawPath,
		partRoute:     e.RouteKey,
		partAPI:       c.APIID,
		partStage:     c.Stage,
		partRequestID: c.RequestID,
		partRawQuery:  e.RawQueryString,
	}
	if c.Authorizer == nil {
		return v
	}
	v.principal(c.Authorizer.Lambda["principalId"])
	if jwt := c.Authorizer.JWT; jwt != nil {
		v.text[partIssuer], v.text[partSubject] = jwt.Claims["iss"], jwt.Claims["sub"]
	}
	if iam := c.Authorizer.IAM; iam != nil {
		v.text[partIdentity] = iam.CognitoIdentity.IdentityID
		v.text[partAccount], v.text[partUser] = iam.AccountID, iam.UserID
	}
	return v
}

func requestV2(r *httpRequest) {
	e := &r.event
	_, route, _ := strings.Cut(e.text[partRoute], " ") // "POST /charges/{id}" or "$default"
	r.method = strings.ToUpper(e.text[partMethod])
	r.path = e.text[partPath]
	r.route = template(route)
	r.api = e.text[partAPI]
	r.stage = e.text[partStage]
	r.requestID = e.text[partRequestID]
	r.query = parseQuery(e.text[partRawQuery])
	r.caller = e.caller()
}

// template is empty for a route that says less than the path: $default (which in payload format 2.0 has no space), and
// greedy ones.
func template(route string) string {
	if route == "$default" || strings.Contains(route, "+}") {
		return ""
	}
	return route
}

func responseV2(r events.APIGatewayV2HTTPResponse) httpResponse {
	return httpResponse{
		status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, cookies: r.Cookies, body: r.Body,
	}
}

func withV2(out events.APIGatewayV2HTTPResponse, r httpResponse) events.APIGatewayV2HTTPResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders, out.Cookies = r.headers, r.multi, r.cookies
	return out
}

// membersV1 are those of an event of a REST API, or of an HTTP API with payload format 1.0, and eventV1 reads them from one
// that is decoded. Tests and consoles often fill only one of two maps. An HTTP API fills the authorizer with nulls where
// there is none. A Lambda authorizer's principal and context share one map.
var membersV1 = slices.Concat(membersOfAll, membersOfFormat1, []member{
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
	{"requestContext.identity.apiKeyId", partAPIKey},
})

// membersOfFormat1 are those that load balancers have in the same place.
var membersOfFormat1 = []member{
	{"httpMethod", partMethod},
	{"path", partPath},
	{"queryStringParameters", partQuery},
	{"multiValueQueryStringParameters", partMultiQuery},
	{"multiValueHeaders", partMultiHeaders},
}

func eventV1(e events.APIGatewayProxyRequest, names []string) httpEvent {
	c := &e.RequestContext
	claims, _ := c.Authorizer["claims"].(map[string]any)
	v := httpEvent{headers: headersIn(names, e.Headers, e.MultiValueHeaders), body: []byte(e.Body), isBase64: e.IsBase64Encoded}
	v.query, v.multiQuery = e.QueryStringParameters, e.MultiValueQueryStringParameters
	v.hasMulti = e.MultiValueHeaders != nil
	v.text = [textParts]string{
		partMethod:    e.HTTPMethod,
		partPath:      e.Path,
		partRoute:     e.Resource,
		partAPI:       c.APIID,
		partStage:     c.Stage,
		partRequestID: c.RequestID,
		partIssuer:    text(claims["iss"]),
		partSubject:   text(claims["sub"]),
		partIdentity:  c.Identity.CognitoIdentityID,
		partAccount:   c.Identity.AccountID,
		partUser:      c.Identity.Caller,
		partAPIKey:    c.Identity.APIKeyID,
	}
	v.principal(c.Authorizer["principalId"])
	return v
}

func requestV1(r *httpRequest) {
	e := &r.event
	r.method = strings.ToUpper(e.text[partMethod])
	r.path = e.text[partPath]
	r.route = template(e.text[partRoute])
	r.api = e.text[partAPI]
	r.stage = e.text[partStage]
	r.requestID = e.text[partRequestID]
	r.query = queryOf(e.query, e.multiQuery)
	r.caller = e.caller()
	// The event of a load balancer has a method too, but neither API nor resource: two of them would share a scope.
	if r.api == "" && e.text[partRoute] == "" && e.forwarded() {
		r.refusal = errNoAPI
	}
}

func responseV1(r events.APIGatewayProxyResponse) httpResponse {
	return httpResponse{status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, body: r.Body}
}

func withV1(out events.APIGatewayProxyResponse, r httpResponse) events.APIGatewayProxyResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders = r.headers, r.multi
	return out
}
