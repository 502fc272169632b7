package gateway

import (
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// restAPI is a REST API, or an HTTP API with payload format 1.0.
var restAPI = kind[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]{
	members: membersOfRESTAPI, read: readRESTAPI, request: requestRESTAPI, parts: partsRESTAPI, with: withRESTAPI,
	layout: layout{multi: true, ends: [2]string{`"}`, `,"isBase64Encoded":true}`}},
}

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
	{"requestContext.authorizer", partAuthorizer},
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

// readRESTAPI reads membersOfRESTAPI from a decoded event. Tests and consoles often fill only one of the two maps of headers.
// Where a route has no authorizer, an HTTP API fills the authorizer with nulls. The principal of a Lambda authorizer is in one
// map with its context.
func readRESTAPI(e events.APIGatewayProxyRequest, names []string) event {
	c := &e.RequestContext
	claims, _ := c.Authorizer["claims"].(map[string]any)
	v := event{headers: headersIn(names, e.Headers, e.MultiValueHeaders), body: []byte(e.Body), isBase64: e.IsBase64Encoded}
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
		partUserARN:   c.Identity.UserArn,
		partAPIKey:    c.Identity.APIKeyID,
	}
	v.principal(c.Authorizer["principalId"])
	for _, member := range c.Authorizer {
		v.authorized = v.authorized || member != nil
	}
	return v
}

// requestRESTAPI refuses the event of a load balancer. That has a method too, but neither API nor resource, so two load
// balancers would share a scope.
func requestRESTAPI(r *Request) {
	e := &r.event
	r.Method = strings.ToUpper(e.text[partMethod])
	r.Path = e.text[partPath]
	r.Route = template(e.text[partRoute])
	r.API = e.text[partAPI]
	r.Stage = e.text[partStage]
	r.RequestID = e.text[partRequestID]
	r.query = queryOf(e.query, e.multiQuery)
	r.Caller = e.caller()
	if r.API == "" && e.text[partRoute] == "" && e.forwarded() {
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
