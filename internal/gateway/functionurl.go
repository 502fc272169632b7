package gateway

import (
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// functionURL is a function URL. Its events have payload format 2.0 without routes.
var functionURL = kind[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]{
	members: membersOfFunctionURL, read: readFunctionURL, request: requestFunctionURL, parts: partsFunctionURL, with: withFunctionURL,
	layout: layout{ends: [2]string{`,"cookies":null}`, `]}`}},
}

var membersOfFunctionURL = slices.Concat(membersOfAll, membersOfFormat2, []member{
	{"requestContext.domainName", partDomain},
	{"requestContext.domainPrefix", partDomainPrefix},
})

// defaultStage is the stage in the event of every function URL. The type of package events has no field for it. With
// this stage, a handler with the types of an HTTP API finds the same records as one with the types of a function URL. An HTTP API
// leaves it out of its paths.
const defaultStage = "$default"

// readFunctionURL reads membersOfFunctionURL from a decoded event. The event names a caller only if the authentication type of
// the URL is AWS_IAM.
func readFunctionURL(e events.LambdaFunctionURLRequest, names []string) event {
	c := &e.RequestContext
	v := event{headers: headersIn(names, e.Headers, nil), body: []byte(e.Body), isBase64: e.IsBase64Encoded}
	v.text = [textParts]string{
		partMethod:       c.HTTP.Method,
		partPath:         e.RawPath,
		partAPI:          c.APIID,
		partRequestID:    c.RequestID,
		partRawQuery:     e.RawQueryString,
		partDomain:       c.DomainName,
		partDomainPrefix: c.DomainPrefix,
	}
	if a := c.Authorizer; a != nil {
		v.authorized = true
		if a.IAM != nil {
			v.text[partAccount], v.text[partUser], v.text[partUserARN] = a.IAM.AccountID, a.IAM.UserID, a.IAM.UserARN
		}
	}
	return v
}

// requestFunctionURL takes the id of the URL for the API. It refuses the event of an HTTP API, of which the type leaves out
// route, stage and authorizer.
func requestFunctionURL(r *Request) {
	e := &r.event
	r.Method = strings.ToUpper(e.text[partMethod])
	r.Path = e.text[partPath]
	r.API = e.text[partAPI]
	r.Stage = defaultStage
	r.RequestID = e.text[partRequestID]
	r.query = parseQuery(e.text[partRawQuery])
	r.Caller = e.caller()
	if e.ofHTTPAPI() {
		r.Refusal = errHTTPAPI
	}
}

// ofHTTPAPI tells the event of an HTTP API by its domain. The domain of a function URL begins with the id of the URL. The
// domain of an HTTP API begins with the id of the API only under execute-api.
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
