package gateway

import (
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// functionURL is a function URL. Its events have payload format 2.0 without routes.
var functionURL = kind[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]{
	of:      "a function URL",
	members: membersOfFunctionURL, request: requestFunctionURL, parts: partsFunctionURL, with: withFunctionURL,
	ends: []string{`,"cookies":null}`, `]}`},
}

var membersOfFunctionURL = slices.Concat(membersOfAll, membersOfFormat2, []member{
	{"requestContext.domainName", partDomain},
	{"requestContext.domainPrefix", partDomainPrefix},
})

// defaultStage is the stage in the event of every function URL. The type of package events has no
// field for it. With this stage, a handler with the types of an HTTP API finds the same records as
// one with the types of a function URL. An HTTP API leaves it out of its paths.
const defaultStage = "$default"

// requestFunctionURL takes the id of the URL for the API. It refuses the event of an HTTP API, of
// which the type leaves out route, stage and authorizer.
func requestFunctionURL(r *Request) {
	e := &r.event
	r.Stage = defaultStage
	r.query = parseQuery(e.text[partRawQuery])
	if e.ofHTTPAPI() {
		r.Refusal = errHTTPAPI
	}
}

// ofHTTPAPI tells the event of an HTTP API by its domain. The domain of a function URL begins with
// the id of the URL. The domain of an HTTP API begins with the id of the API only under
// execute-api.
func (e *event) ofHTTPAPI() bool {
	api, prefix := e.text[partAPI], e.text[partDomainPrefix]
	return strings.Contains(e.text[partDomain], ".execute-api.") || api != "" && prefix != "" && api != prefix
}

func partsFunctionURL(r events.LambdaFunctionURLResponse) response {
	return response{status: r.StatusCode, headers: r.Headers, cookies: r.Cookies, body: r.Body}
}

func withFunctionURL(out events.LambdaFunctionURLResponse, r response) events.LambdaFunctionURLResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.Cookies = r.headers, r.cookies
	return out
}
