package stack_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
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
		{map[string]string{"PaymentsSecretArn": variants["secret"]["PaymentsSecretArn"]}, "RealChargesNeedACaller"},
		{map[string]string{"PaymentsSecretArn": "payments", "Authorization": "AWS_IAM"}, "PaymentsSecretArn"},
		{map[string]string{
			"PaymentsSecretArn": variants["secret"]["PaymentsSecretArn"], "PaymentsUrl": "https://payments.example", "Authorization": "AWS_IAM",
		}, "ThereIsOneProvider"},
		{map[string]string{"Authorization": "JWT"}, "needs JwtIssuer"},
		{map[string]string{"Authorization": "JWT", "JwtIssuer": "https://i"}, "needs JwtAudience"},
		{map[string]string{"ApiType": "REST"}, "RestApisAreSigned"},
		{map[string]string{"Authorization": "none"}, "Authorization"},
		{map[string]string{"Orders": "true", "ApiType": "REST", "Authorization": "AWS_IAM"}, "OrdersNeedAnHttpApi"},
		{map[string]string{"Orders": "true", "StockUrl": "https://stock.example"}, "RealOrdersNeedACaller"},
		{map[string]string{"Orders": "true", "MailUrl": "https://mail.example"}, "RealOrdersNeedACaller"},
		{map[string]string{"Orders": "true", "MailSecretArn": mailSecret}, "RealOrdersNeedACaller"},
		{map[string]string{
			"Orders": "true", "MailUrl": "https://mail.example", "MailSecretArn": mailSecret, "Authorization": "AWS_IAM",
		}, "ThereIsOneMail"},
		{map[string]string{"Orders": "true", "MailSecretArn": "mail", "Authorization": "AWS_IAM"}, "MailSecretArn"},
		{map[string]string{"Orders": "true", "ShippingQueue": "fifo", "ShipUrl": "https://ship.example"}, "RealOrdersNeedACaller"},
		{map[string]string{"Orders": "true", "ShippingQueue": "fifo", "ShipSecretArn": shipSecret}, "RealOrdersNeedACaller"},
		{map[string]string{"ShipUrl": "https://ship.example", "ShipSecretArn": shipSecret, "Authorization": "AWS_IAM"}, "ThereIsOneShipper"},
		{map[string]string{"ShippingQueue": "fifo"}, "need Orders=true"},
		{map[string]string{
			"Orders": "true", "ShippingQueue": "standard", "MailUrl": "https://mail.example", "Authorization": "AWS_IAM",
		}, "AMessageGoesToTheQueueOrToTheMail"},
		{map[string]string{
			"Orders": "true", "ShippingQueue": "fifo", "MailSecretArn": mailSecret, "Authorization": "AWS_IAM",
		}, "AMessageGoesToTheQueueOrToTheMail"},
		{map[string]string{"ShippingQueue": "yes"}, "ShippingQueue"},
		{map[string]string{"Reconcile": "true", "Authorization": "AWS_IAM"}, "WhoReconcilesAsksAProvider"},
		{map[string]string{"StripeSigningSecretArn": stripeSecret}, "AWebhookSettlesWhatIsReconciled"},
		{map[string]string{
			"StripeSigningSecretArn": stripeSecret, "Reconcile": "true", "ApiType": "REST", "Authorization": "AWS_IAM", "PaymentsUrl": "https://payments.example",
		}, "AWebhookSettlesWhatIsReconciled"},
		{map[string]string{"StripeSigningSecretArn": "whsec_1"}, "StripeSigningSecretArn"},
		{map[string]string{"Orders": "true", "PaymentsUrl": "https://payments.example"}, "RealChargesNeedACaller"},
	} {
		_, err := template.Stack(stackName, c.parameters)
		require.ErrorContains(t, err, c.problem)
	}
}

// TestAPasswordIsNoParameter: parameters and the function's environment can be read by everybody who may look at the stack.
func TestAPasswordIsNoParameter(t *testing.T) {
	t.Parallel()
	template, err := stack.Read(file)
	require.NoError(t, err)
	for _, url := range []string{
		"https://user:password@payments.example", "https://sk_live_1@payments.example/api", "https://user:pass@word@payments.example",
		"https://user:@payments.example", "https://@payments.example",
	} {
		for _, parameter := range []string{"PaymentsUrl", "StockUrl", "MailUrl", "ShipUrl"} {
			_, err := template.Stack(stackName, map[string]string{"Authorization": "AWS_IAM", parameter: url})
			require.ErrorContains(t, err, "parameter "+parameter, url)
		}
	}
	for _, url := range []string{
		"https://payments.example", "https://payments.example:8443/api/v2", "https://payments.example/of/a@b", "https://payments.example?of=a@b",
	} {
		s, err := template.Stack(stackName, map[string]string{"Authorization": "AWS_IAM", "PaymentsUrl": url})
		require.NoError(t, err, url)
		require.Equal(t, url, s.Resources["ChargeFunction"].At("Environment", "Variables", "PAYMENTS_URL"))
		require.Empty(t, s.Resources["ChargeFunction"].At("Environment", "Variables", "PAYMENTS_SECRET"))
	}

	secret := deployed(t, variants["secret"])
	arn := variants["secret"]["PaymentsSecretArn"]
	require.Equal(t, arn, secret.Resources["ChargeFunction"].At("Environment", "Variables", "PAYMENTS_SECRET"), "its name, not its text")
	require.Empty(t, secret.Resources["ChargeFunction"].At("Environment", "Variables", "PAYMENTS_URL"))
	for name, s := range map[string]*stack.Stack{"secret": secret, "signed": deployed(t, variants["signed"])} {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		require.NotContains(t, string(text), "{{resolve:", "%s: a dynamic reference would put the text into the environment", name)
	}
}

// TestACallerIsRequiredWhereAnAuthorizerNamesOne compares what the API lets in with what the function is told.
func TestACallerIsRequiredWhereAnAuthorizerNamesOne(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		s := deployed(t, parameters)
		open := name != "REST" && s.Resources["HttpRoute"].At("AuthorizationType") == "NONE"
		for _, function := range []string{"ChargeFunction", "OrdersFunction"} {
			if _, there := s.Resources[function]; there {
				require.Equal(t, strconv.FormatBool(!open), s.Resources[function].At("Environment", "Variables", "REQUIRE_TENANT"), name)
			}
		}
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
	require.Equal(t, []any{map[string]any{"sigv4": []any{}}, map[string]any{"api_key": []any{}}},
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
		const token = ` -H "Authorization: Bearer $TOKEN"`
		caller := map[string]string{
			"tokens": token, "orders": token, "signed": credentials, "secret": credentials, "orders with a secret": credentials,
			"shipping": credentials, "shipping in order": credentials, "reconciled": credentials,
			"REST": credentials + ` -H "x-api-key: $API_KEY"`,
		}[name]
		require.Equal(t, "curl -i "+s.Outputs["ApiUrl"]+"/charges"+caller+
			` -H 'Idempotency-Key: order-1' -H 'Content-Type: application/json'`+
			` -d '{"amount":1999,"currency":"usd","source":"tok_visa"}'`, s.Outputs["Curl"])

		permissions := s.Of("AWS::Lambda::Permission")
		require.Equal(t, hasOrders(name) || hasWebhook(name), len(permissions) == 2, name)
		for id, p := range permissions {
			path := "charges"
			switch id {
			case "OrdersPermission":
				path = "orders"
			case "StripePermission":
				path = "stripe"
			}
			require.True(t, strings.HasSuffix(p.At("SourceArn").(string), "Api}/*/POST/"+path), name)
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

// TestEachCallerOfARestAPIHasARateOfTheirOwn: API Gateway counts by API key, and only where a method requires one.
func TestEachCallerOfARestAPIHasARateOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["REST"])
	plan := s.Resources["UsagePlan"]
	require.Equal(t, map[string]any{"RateLimit": 10, "BurstLimit": 20}, plan.At("Throttle"))
	require.Equal(t, []any{map[string]any{"ApiId": "${RestApi}", "Stage": "live"}}, plan.At("ApiStages"))
	require.Equal(t, map[string]any{"KeyId": "${FirstCaller}", "KeyType": "API_KEY", "UsagePlanId": "${UsagePlan}"},
		s.Resources["FirstCallerOfUsagePlan"].Properties)
	require.Equal(t, true, s.Resources["FirstCaller"].At("Enabled"))
	require.Nil(t, s.Resources["FirstCaller"].At("Value"), "API Gateway makes it, and no template holds it")
	require.Equal(t, "${FirstCaller}", s.Outputs["FirstCallerKeyId"])

	definition := s.Resources["RestApi"]
	require.Equal(t, "HEADER", definition.At("DefinitionBody", "x-amazon-apigateway-api-key-source"))
	require.Equal(t, map[string]any{"type": "apiKey", "name": "x-api-key", "in": "header"},
		definition.At("DefinitionBody", "components", "securitySchemes", "api_key"))
	for path := range definition.At("DefinitionBody", "paths").(map[string]any) {
		for method := range definition.At("DefinitionBody", "paths", path).(map[string]any) {
			require.Contains(t, definition.At("DefinitionBody", "paths", path, method, "security"), map[string]any{"api_key": []any{}})
		}
	}

	http := deployed(t, nil)
	for _, ofRest := range []string{"UsagePlan", "FirstCaller", "FirstCallerOfUsagePlan"} {
		require.NotContains(t, http.Resources, ofRest, "an HTTP API has no usage plans")
	}
	require.NotContains(t, http.Outputs, "FirstCallerKeyId")
}

func TestLogsAreKeptForAWhileAndHoldNoKeys(t *testing.T) {
	t.Parallel()
	s := deployed(t, nil)
	groups := s.Of("AWS::Logs::LogGroup")
	require.Len(t, groups, 3)
	for name, g := range groups {
		require.Equal(t, 30, g.At("RetentionInDays"), name)
	}
	function := s.Resources["ChargeFunction"]
	require.Equal(t, "/aws/lambda/"+operation, function.At("LoggingConfig", "LogGroup"))
	require.Equal(t, "/aws/lambda/"+attending, s.Resources["AttentionFunction"].At("LoggingConfig", "LogGroup"))
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
	require.Equal(t, key, s.Resources["AttentionFunction"].At("KmsKeyArn"))
	require.Contains(t, s.Resources, "KeyPolicy")
	require.Contains(t, s.Resources, "AttentionKeyPolicy")

	s = deployed(t, nil)
	require.Nil(t, s.Resources["Table"].At("SSESpecification"))
	require.Nil(t, s.Resources["ChargeFunction"].At("KmsKeyArn"))
	require.Nil(t, s.Resources["AttentionFunction"].At("KmsKeyArn"))
	require.NotContains(t, s.Resources, "KeyPolicy")
	require.NotContains(t, s.Resources, "AttentionKeyPolicy")
}
