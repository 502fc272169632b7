package charge

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// REST is a handler of HTTP API events for REST APIs, whose events have payload format 1.0. It passes on what the handler
// looks at; wrapping it with idempotent.Wrap works as with the handler itself.
func REST(handler httpapi.Handler) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		in := events.APIGatewayV2HTTPRequest{
			RouteKey: e.HTTPMethod + " " + e.Resource, RawPath: e.Path, Body: e.Body, IsBase64Encoded: e.IsBase64Encoded,
		}
		in.RequestContext.HTTP.Method = e.HTTPMethod
		out, err := handler(ctx, in)
		return restResponse(out), err
	}
}

func restResponse(out httpapi.Response) events.APIGatewayProxyResponse {
	return events.APIGatewayProxyResponse{StatusCode: out.StatusCode, Headers: out.Headers, Body: out.Body}
}
