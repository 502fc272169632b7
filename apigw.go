package idempotent

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// supportedFamilies says in configuration errors what would have been an HTTP handler.
const supportedFamilies = "an HTTP handler takes an events.APIGatewayV2HTTPRequest and returns an events.APIGatewayV2HTTPResponse, " +
	"or takes an events.APIGatewayProxyRequest and returns an events.APIGatewayProxyResponse"

// family translates between the event types of one kind of gateway and what they have in common.
type family[In, Out any] struct {
	request  func(In) httpRequest
	response func(Out) httpResponse
	// with returns a copy of out with the fields of r. What they do not have in common stays, and so does a nil out.
	with func(out Out, r httpResponse) Out
	// make builds a response from nothing.
	make func(r httpResponse) Out
}

// familyOf finds the family of a handler's types, by value or by pointer.
func familyOf[In, Out any]() (family[In, Out], bool) {
	for _, find := range []func() (family[In, Out], bool){
		match[In, Out](requestV2, responseV2, withV2),
		match[In, Out](requestV1, responseV1, withV1),
	} {
		if f, ok := find(); ok {
			return f, true
		}
	}
	return family[In, Out]{}, false
}

// match reports whether In and Out are the event types of a family or pointers to them. A nil pointer is an empty event.
func match[In, Out, Event, Response any](
	request func(Event) httpRequest,
	response func(Response) httpResponse,
	with func(Response, httpResponse) Response,
) func() (family[In, Out], bool) {
	return func() (family[In, Out], bool) {
		in, _, fromOK := conversion[In, Event]()
		out, back, backOK := conversion[Out, Response]()
		f := family[In, Out]{
			request: func(v In) httpRequest {
				event, _ := in(v)
				return request(event)
			},
			response: func(v Out) httpResponse {
				resp, _ := out(v)
				return response(resp)
			},
			with: func(v Out, r httpResponse) Out {
				if resp, ok := out(v); ok {
					return back(with(resp, r))
				}
				return v
			},
			make: func(r httpResponse) Out {
				var none Response
				return back(with(none, r))
			},
		}
		return f, fromOK && backOK
	}
}

// conversion reads and writes a T as a V, which is a T or a *T. Reading reports whether there is one behind the pointer.
func conversion[V, T any]() (read func(V) (T, bool), write func(T) V, ok bool) {
	var v V
	switch any(v).(type) {
	case *T:
		return func(v V) (t T, ok bool) {
				if p := any(v).(*T); p != nil { //nolint:forcetypeassert // just checked
					return *p, true
				}
				return t, false
			},
			func(t T) V { return any(&t).(V) }, true //nolint:forcetypeassert // just checked
	case T:
		return func(v V) (T, bool) { return any(v).(T), true }, //nolint:forcetypeassert // just checked
			func(t T) V { return any(t).(V) }, true //nolint:forcetypeassert // just checked
	default:
		return nil, nil, false
	}
}

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

// template is empty for a route that says less than the path: $default (which has no space), and greedy ones.
func template(route string) string {
	if strings.Contains(route, "+}") {
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
	return httpRequest{
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
}

func responseV1(r events.APIGatewayProxyResponse) httpResponse {
	return httpResponse{status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, body: r.Body}
}

func withV1(out events.APIGatewayProxyResponse, r httpResponse) events.APIGatewayProxyResponse {
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders = r.headers, r.multi
	return out
}
