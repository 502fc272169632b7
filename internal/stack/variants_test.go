package stack_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/internal/stack"
)

func TestParametersThatWouldLetAnybodyChargeAreRefused(t *testing.T) {
	t.Parallel()
	template, err := stack.Read(file)
	require.NoError(t, err)
	for _, c := range []struct {
		parameters map[string]string
		problem    string
	}{
		{map[string]string{"PaymentsUrl": "https://payments.example"}, "RealChargesNeedACaller"},
		{map[string]string{"PaymentsUrl": "http://payments.example", "Authorization": "AWS_IAM"}, "PaymentsUrl"},
		{map[string]string{"Authorization": "JWT"}, "needs JwtIssuer"},
		{map[string]string{"Authorization": "JWT", "JwtIssuer": "https://i"}, "needs JwtAudience"},
		{map[string]string{"ApiType": "REST"}, "RestApisAreSigned"},
		{map[string]string{"Authorization": "none"}, "Authorization"},
	} {
		_, err := template.Stack(stackName, c.parameters)
		require.ErrorContains(t, err, c.problem)
	}
}

func TestTheRouteAsksForWhoIsToCharge(t *testing.T) {
	t.Parallel()
	for name, authorization := range map[string]string{"defaults": "NONE", "tokens": "JWT", "signed": "AWS_IAM"} {
		s := deployed(t, variants[name])
		routes := s.Of("AWS::ApiGatewayV2::Route")
		require.Len(t, routes, 1, "the function is reached in no other way")
		route := s.Resources["HttpRoute"]
		require.Equal(t, charge.Route, route.At("RouteKey"))
		require.Equal(t, authorization, route.At("AuthorizationType"))
		require.Equal(t, name == "tokens", route.At("AuthorizerId") == "${HttpAuthorizer}")
		require.Equal(t, name == "tokens", len(s.Of("AWS::ApiGatewayV2::Authorizer")) == 1)
	}
	tokens := deployed(t, variants["tokens"]).Resources["HttpAuthorizer"]
	require.Equal(t, map[string]any{"Issuer": "https://issuer.example", "Audience": []any{"client"}}, tokens.At("JwtConfiguration"))

	paths := deployed(t, variants["REST"]).Resources["RestApi"].At("DefinitionBody", "paths").(map[string]any)
	require.Equal(t, []string{"/charges"}, slices.Collect(maps.Keys(paths)))
	require.Equal(t, []any{map[string]any{"sigv4": []any{}}},
		deployed(t, variants["REST"]).Resources["RestApi"].At("DefinitionBody", "paths", "/charges", "post", "security"))
}

func TestThereIsOneApiAndTheFunctionUnderstandsIt(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		s := deployed(t, parameters)
		rest, http := s.Of("AWS::Serverless::Api"), s.Of("AWS::ApiGatewayV2::Api")
		require.Equal(t, name == "REST", len(rest) == 1, name)
		require.Equal(t, name != "REST", len(http) == 1, name)

		format, stage := "2.0", ""
		if name == "REST" {
			format, stage = "1.0", "/live"
		} else {
			require.Equal(t, format, s.Resources["HttpIntegration"].At("PayloadFormatVersion"))
		}
		require.Equal(t, format, s.Resources["ChargeFunction"].At("Environment", "Variables", "PAYLOAD_FORMAT"), name)
		require.True(t, strings.HasSuffix(s.Outputs["ApiUrl"], ".execute-api.us-east-1.amazonaws.com"+stage), s.Outputs["ApiUrl"])
		const credentials = ` --aws-sigv4 aws:amz:us-east-1:execute-api --user $AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY` +
			` -H "x-amz-security-token: $AWS_SESSION_TOKEN"`
		caller := map[string]string{"tokens": ` -H "Authorization: Bearer $TOKEN"`, "signed": credentials, "REST": credentials}[name]
		require.Equal(t, "curl -i "+s.Outputs["ApiUrl"]+"/charges"+caller+
			` -H 'Idempotency-Key: order-1' -H 'Content-Type: application/json'`+
			` -d '{"amount":1999,"currency":"usd","source":"tok_visa"}'`, s.Outputs["Curl"])

		permissions := s.Of("AWS::Lambda::Permission")
		require.Len(t, permissions, 1, name)
		for _, p := range permissions {
			require.True(t, strings.HasSuffix(p.At("SourceArn").(string), "Api}/*/POST/charges"), name)
		}
	}
}

// TestWhoGivesUpFirst compares the periods that contain each other: the parts of an execution, the function's timeout, what the
// API waits, and what API Gateway allows it to wait.
func TestWhoGivesUpFirst(t *testing.T) {
	t.Parallel()
	execution := idempotent.DefaultClaimBudget + payments.Timeout + idempotent.DefaultClaimBudget
	seconds := deployed(t, nil).Resources["ChargeFunction"].At("Timeout").(int)
	function := time.Duration(seconds) * time.Second
	require.Less(t, execution, function)
	const most = 29 * time.Second // a REST API's default limit; an HTTP API may wait for 30 s
	for _, waits := range []any{
		deployed(t, nil).Resources["HttpIntegration"].At("TimeoutInMillis"),
		deployed(t, variants["REST"]).Resources["RestApi"].At(
			"DefinitionBody", "paths", "/charges", "post", "x-amazon-apigateway-integration", "timeoutInMillis"),
	} {
		milliseconds := waits.(int)
		api := time.Duration(milliseconds) * time.Millisecond
		require.Less(t, function, api)
		require.LessOrEqual(t, api, most)
	}
}

func TestLoadIsBounded(t *testing.T) {
	t.Parallel()
	http := deployed(t, nil)
	require.Equal(t, 20, http.Resources["ChargeFunction"].At("ReservedConcurrentExecutions"))
	require.Nil(t, deployed(t, variants["signed"]).Resources["ChargeFunction"].At("ReservedConcurrentExecutions"))
	require.Equal(t, map[string]any{"ThrottlingRateLimit": 50, "ThrottlingBurstLimit": 100},
		http.Resources["HttpStage"].At("DefaultRouteSettings"))
	rest := deployed(t, variants["REST"]).Resources["RestApi"]
	require.Equal(t, 50, rest.At("MethodSettings", 0, "ThrottlingRateLimit"))
	require.Equal(t, 100, rest.At("MethodSettings", 0, "ThrottlingBurstLimit"))
}

func TestLogsAreKeptForAWhileAndHoldNoKeys(t *testing.T) {
	t.Parallel()
	s := deployed(t, nil)
	groups := s.Of("AWS::Logs::LogGroup")
	require.Len(t, groups, 2)
	for name, g := range groups {
		require.Equal(t, 30, g.At("RetentionInDays"), name)
	}
	function := s.Resources["ChargeFunction"]
	require.Equal(t, "/aws/lambda/"+operation, function.At("LoggingConfig", "LogGroup"))
	format := s.Resources["HttpStage"].At("AccessLogSettings", "Format").(string)
	require.NotContains(t, format, "$context.requestOverride")
	require.NotContains(t, strings.ToLower(format), "header")
}

func TestACustomersKeyEncryptsTheTableAndTheEnvironment(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["signed"])
	key := variants["signed"]["KmsKeyArn"]
	require.Equal(t, map[string]any{"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": key},
		s.Resources["Table"].At("SSESpecification"))
	require.Equal(t, key, s.Resources["ChargeFunction"].At("KmsKeyArn"))
	require.Contains(t, s.Resources, "KeyPolicy")

	s = deployed(t, nil)
	require.Nil(t, s.Resources["Table"].At("SSESpecification"))
	require.Nil(t, s.Resources["ChargeFunction"].At("KmsKeyArn"))
	require.NotContains(t, s.Resources, "KeyPolicy")
}
