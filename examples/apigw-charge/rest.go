package main

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
)

// rest is a handler of HTTP API events for REST APIs, whose events have payload format 1.0. It passes on what the handler
// looks at; wrapping it with idempotent.Wrap works as with the handler itself.
func rest(
	handler func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error),
) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		in := events.APIGatewayV2HTTPRequest{
			RouteKey: e.HTTPMethod + " " + e.Resource, RawPath: e.Path, Body: e.Body, IsBase64Encoded: e.IsBase64Encoded,
		}
		in.RequestContext.HTTP.Method = e.HTTPMethod
		out, err := handler(ctx, in)
		return events.APIGatewayProxyResponse{StatusCode: out.StatusCode, Headers: out.Headers, Body: out.Body}, err
	}
}
