package charge_test

import (
	"encoding/base64"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

func TestARestAPIGetsTheAnswersOfAnHTTPAPI(t *testing.T) {
	t.Parallel()
	const body = `{"amount":1999,"currency":"usd","source":"tok_visa"}`
	handler := charge.REST(charge.Handler(payments.NewLedger()))
	for _, c := range []struct {
		name      string
		event     events.APIGatewayProxyRequest
		status    int
		mediaType string
	}{
		{
			"the route",
			events.APIGatewayProxyRequest{Resource: "/charges", Path: "/payments/charges", HTTPMethod: "POST", Body: body},
			201, "application/json",
		},
		{
			"a route of any path",
			events.APIGatewayProxyRequest{Resource: "/{proxy+}", Path: "/charges", HTTPMethod: "POST", Body: body},
			201, "application/json",
		},
		{
			"another path",
			events.APIGatewayProxyRequest{Resource: "/{proxy+}", Path: "/refunds", HTTPMethod: "POST", Body: body},
			404, "application/problem+json",
		},
		{
			"another method",
			events.APIGatewayProxyRequest{Resource: "/charges", Path: "/charges", HTTPMethod: "GET"},
			405, "application/problem+json",
		},
		{"a body in base64", events.APIGatewayProxyRequest{
			Resource: "/charges", Path: "/charges", HTTPMethod: "POST",
			Body: base64.StdEncoding.EncodeToString([]byte(body)), IsBase64Encoded: true,
		}, 201, "application/json"},
	} {
		out, err := handler(idempotenttest.Context(t), c.event)
		require.NoError(t, err, c.name)
		require.Equal(t, c.status, out.StatusCode, "%s: %s", c.name, out.Body)
		require.Equal(t, c.mediaType, out.Headers["Content-Type"], c.name)
		require.NotEmpty(t, out.Body, c.name)
	}
}
