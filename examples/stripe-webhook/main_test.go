package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/signature"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/webhook"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	fine := []string{"IDEMPOTENCY_TABLE=table", "OPERATION=charge"}
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set":     {"OPERATION=charge"},
		"OPERATION is not set":             {"IDEMPOTENCY_TABLE=table"},
		"STRIPE_SIGNING_SECRET is not set": fine,
		"is neither true nor false":        append(fine, "STRIPE_LIVEMODE=yes"),
		"the secret is empty": append(fine, "STRIPE_SIGNING_SECRET=arn", "AWS_ENDPOINT_URL_SECRETS_MANAGER="+serveSecret(t, " "),
			"AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none"),
	} {
		deployed.RequireRefused(t, binary, says, environment...)
	}
}

// serveSecret is Secrets Manager with one secret. It returns its endpoint.
func serveSecret(t *testing.T, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(map[string]string{"ARN": "arn", "SecretString": text})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTheBinarySettlesARecordByAnEvent sends the event of a charge whose function did not get its answer.
func TestTheBinarySettlesARecordByAnEvent(t *testing.T) {
	t.Parallel()
	const operation, secret = "shop-charge", "whsec_s3cret"
	endpoint := dynamolocal.Endpoint(t)
	table := "stripe-" + strings.ToLower(filepath.Base(t.TempDir())) + "-" + time.Now().Format("150405.000000")
	client := dynamolocal.Client(endpoint)
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	var metadata map[string]string
	var key string
	handler := idempotent.Wrap(func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		metadata, key = charge.Metadata(ctx, 1999, "usd"), idempotent.DerivedKey(ctx, "charge")
		return events.APIGatewayV2HTTPResponse{}, idempotent.Uncertain(errors.New("no answer"))
	}, dynamo.New(client, table), idempotent.WithOperation(operation))
	function := deployed.RunWithoutRecords(t, "IDEMPOTENCY_TABLE="+table, "OPERATION="+operation, "STRIPE_SIGNING_SECRET=arn", "AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_ENDPOINT_URL_SECRETS_MANAGER="+serveSecret(t, "whsec_next "+secret+"\n"))

	for _, byKey := range []bool{false, true} {
		request := events.APIGatewayV2HTTPRequest{RouteKey: "POST /charges", RawPath: "/charges", Body: "{}", Headers: map[string]string{"idempotency-key": time.Now().Format("150405.000000")}}
		request.RequestContext.HTTP.Method = http.MethodPost
		_, err := handler.Handle(t.Context(), request)
		require.Error(t, err)
		event := map[string]any{
			"id": "evt_1", "object": "event", "created": time.Now().Unix(), "livemode": false, "type": "charge.succeeded",
			"request": map[string]any{"id": "req_1", "idempotency_key": nil},
			"data": map[string]any{"object": map[string]any{
				"id": "ch_1", "object": "charge", "amount": 1999, "currency": "usd", "status": "succeeded", "metadata": metadata,
			}},
		}
		if byKey {
			event["request"].(map[string]any)["idempotency_key"] = key
			event["data"].(map[string]any)["object"].(map[string]any)["metadata"] = map[string]string{}
		}
		body, err := json.Marshal(event)
		require.NoError(t, err)
		for _, want := range []string{webhook.Settled, map[bool]string{false: webhook.Done, true: webhook.Later}[byKey]} {
			out := send(t, function, body, signature.Header(body, secret, time.Now()))
			require.JSONEq(t, `{"outcome":"`+want+`"}`, out.Body)
		}
		again, err := handler.Handle(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, 201, again.StatusCode)
		require.Contains(t, again.Body, "ch_1")
	}
	require.Equal(t, 400, send(t, function, []byte("{}"), "t=1,v1=00").StatusCode)
	require.NotContains(t, function.Logs(), "s3cret")
	require.Regexp(t, `"level":"WARN".*"outcome":"not signed"`, function.Logs(), "a metric filter of the template looks for it")
}

func send(t *testing.T, function deployed.Invoker, body []byte, header string) (out events.APIGatewayV2HTTPResponse) {
	t.Helper()
	r := events.APIGatewayV2HTTPRequest{Version: "2.0", RouteKey: "$default", Body: string(body), Headers: map[string]string{"stripe-signature": header}}
	r.RequestContext.HTTP.Method = http.MethodPost
	payload, err := json.Marshal(r)
	require.NoError(t, err)
	result, err := function.Invoke(t.Context(), payload)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(result, &out))
	return out
}
