package idempotent

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// stageURL is the stage of every function URL. The event has it, its type has no field for it: with it, the types of an
// HTTP API find the same records for a function URL as its own.
const stageURL = "$default"

// requestURL reads an event of a function URL: payload format 2.0, without routes. The URL is known by its id.
func requestURL(e events.LambdaFunctionURLRequest) httpRequest {
	c := &e.RequestContext
	r := httpRequest{
		method:    strings.ToUpper(c.HTTP.Method),
		path:      e.RawPath,
		api:       c.APIID,
		stage:     stageURL,
		requestID: c.RequestID,
		query:     parseQuery(e.RawQueryString),
		headers:   headersOf(e.Headers, nil),
		body:      e.Body,
		isBase64:  e.IsBase64Encoded,
		caller:    callerURL(c.Authorizer),
	}
	if ofHTTPAPI(c) {
		r.refusal = errHTTPAPI
	}
	return r
}

// ofHTTPAPI reports whether the event is one of an HTTP API, whose route, stage and authorizer the type leaves out. The
// host of a function URL begins with its id; that of an API does so only under execute-api.
func ofHTTPAPI(c *events.LambdaFunctionURLRequestContext) bool {
	return strings.Contains(c.DomainName, ".execute-api.") ||
		c.APIID != "" && c.DomainPrefix != "" && c.APIID != c.DomainPrefix
}

func responseURL(r events.LambdaFunctionURLResponse) httpResponse {
	return httpResponse{status: r.StatusCode, headers: r.Headers, cookies: r.Cookies, body: r.Body}
}

func withURL(out events.LambdaFunctionURLResponse, r httpResponse) events.LambdaFunctionURLResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.Cookies = r.headers, r.cookies
	return out
}
