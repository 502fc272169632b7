// Package httpapi is what the handlers of the examples share: they serve one route of an HTTP API of API Gateway (payload format
// 2.0), read a JSON object from the body, and answer with JSON.
package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/examples/internal/body"
)

type (
	// Request is the event of a handler.
	Request = events.APIGatewayV2HTTPRequest
	// Response is its result.
	Response = events.APIGatewayV2HTTPResponse
	// Handler is the form that idempotent.Wrap takes.
	Handler = func(context.Context, Request) (Response, error)
)

// Only returns a handler of a route such as "POST /charges". Another path is answered with 404, another method with 405.
func Only(route string, h Handler) Handler {
	return func(ctx context.Context, event Request) (Response, error) {
		status := routed(event, route)
		if status == http.StatusOK {
			return h(ctx, event)
		}
		out, err := Problem(status, "The only operation is "+route+".")
		if status == http.StatusMethodNotAllowed {
			out.Headers["Allow"], _, _ = strings.Cut(route, " ")
		}
		return out, err
	}
}

// routed tells the status of a request by its route.
func routed(event Request, route string) int {
	method, path, _ := strings.Cut(route, " ")
	switch {
	case event.RouteKey == route: // the gateway has matched it, whatever its stage puts in front of the path
		return http.StatusOK
	case event.RawPath != path:
		return http.StatusNotFound
	case event.RequestContext.HTTP.Method != method:
		return http.StatusMethodNotAllowed
	default:
		return http.StatusOK
	}
}

// Answer answers with JSON.
func Answer(status int, v any) (Response, error) { return answer(status, "application/json", v) }

// Problem answers with a problem document (RFC 9457), the form in which idempotent.Wrap answers, too.
func Problem(status int, detail string) (Response, error) {
	return answer(status, "application/problem+json", struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
}

func answer(status int, mediaType string, v any) (Response, error) {
	text, err := body.JSON(v)
	if err != nil {
		return Response{}, err
	}
	return Response{StatusCode: status, Headers: map[string]string{"Content-Type": mediaType}, Body: string(text)}, nil
}
