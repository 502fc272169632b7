package idempotent

import (
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// stageURL is the stage of every function URL. The event has it, its type has no field for it: with it, the types of an
// HTTP API find the same records for a function URL as its own.
const stageURL = "$default"

// membersURL are those of an event of a function URL, and eventURL reads them from one that is decoded: payload format 2.0,
// without routes. It names a caller only with the authentication type AWS_IAM.
var membersURL = slices.Concat(membersOfAll, membersOfFormat2, []member{
	{"requestContext.domainName", partDomain},
	{"requestContext.domainPrefix", partDomainPrefix},
})

func eventURL(e events.LambdaFunctionURLRequest, names []string) httpEvent {
	c := &e.RequestContext
	v := httpEvent{headers: headersIn(names, e.Headers, nil), body: []byte(e.Body), isBase64: e.IsBase64Encoded}
	v.text = [textParts]string{
		partMethod:       c.HTTP.Method,
		partPath:         e.RawPath,
		partAPI:          c.APIID,
		partRequestID:    c.RequestID,
		partRawQuery:     e.RawQueryString,
		partDomain:       c.DomainName,
		partDomainPrefix: c.DomainPrefix,
	}
	if a := c.Authorizer; a != nil && a.IAM != nil {
		v.text[partAccount], v.text[partUser] = a.IAM.AccountID, a.IAM.UserID
	}
	return v
}

// requestURL knows the URL by its id.
func requestURL(r *httpRequest) {
	e := &r.event
	r.method = strings.ToUpper(e.text[partMethod])
	r.path = e.text[partPath]
	r.api = e.text[partAPI]
	r.stage = stageURL
	r.requestID = e.text[partRequestID]
	r.query = parseQuery(e.text[partRawQuery])
	r.caller = e.caller()
	if e.ofHTTPAPI() {
		r.refusal = errHTTPAPI
	}
}

// ofHTTPAPI reports whether the event is one of an HTTP API, whose route, stage and authorizer the type leaves out. The
// host of a function URL begins with its id; that of an API does so only under execute-api.
func (e *httpEvent) ofHTTPAPI() bool {
	api, prefix := e.text[partAPI], e.text[partDomainPrefix]
	return strings.Contains(e.text[partDomain], ".execute-api.") || api != "" && prefix != "" && api != prefix
}

func responseURL(r events.LambdaFunctionURLResponse) httpResponse {
	return httpResponse{status: r.StatusCode, headers: r.Headers, cookies: r.Cookies, body: r.Body}
}

func withURL(out events.LambdaFunctionURLResponse, r httpResponse) events.LambdaFunctionURLResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.Cookies = r.headers, r.cookies
	return out
}
