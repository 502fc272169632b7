package idempotent

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// requestV2 reads an event of an HTTP API (payload format 2.0). The gateway lower-cases header names and joins repeated
// ones with commas.
func requestV2(e events.APIGatewayV2HTTPRequest) httpRequest {
	c := &e.RequestContext
	_, route, _ := strings.Cut(e.RouteKey, " ") // "POST /charges/{id}" or "$default"
	return httpRequest{
		method:    strings.ToUpper(c.HTTP.Method),
		path:      e.RawPath,
		route:     template(route),
		api:       c.APIID,
		stage:     c.Stage,
		requestID: c.RequestID,
		query:     parseQuery(e.RawQueryString),
		headers:   headersOf(e.Headers, nil),
		body:      e.Body,
		isBase64:  e.IsBase64Encoded,
		caller:    callerV2(c.Authorizer),
	}
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

// requestV1 reads an event of a REST API, or of an HTTP API with payload format 1.0. Tests and consoles often fill only
// one of two maps.
func requestV1(e events.APIGatewayProxyRequest) httpRequest {
	c := &e.RequestContext
	r := httpRequest{
		method:    strings.ToUpper(e.HTTPMethod),
		path:      e.Path,
		route:     template(e.Resource),
		api:       c.APIID,
		stage:     c.Stage,
		requestID: c.RequestID,
		query:     queryOf(e.QueryStringParameters, e.MultiValueQueryStringParameters),
		headers:   headersOf(e.Headers, e.MultiValueHeaders),
		body:      e.Body,
		isBase64:  e.IsBase64Encoded,
		caller:    callerV1(c),
	}
	// The event of a load balancer has a method too, but neither API nor resource: two of them would share a scope.
	if c.APIID == "" && e.Resource == "" && r.forwarded() {
		r.refusal = errNoAPI
	}
	return r
}

func responseV1(r events.APIGatewayProxyResponse) httpResponse {
	return httpResponse{status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, body: r.Body}
}

func withV1(out events.APIGatewayProxyResponse, r httpResponse) events.APIGatewayProxyResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders = r.headers, r.multi
	return out
}
