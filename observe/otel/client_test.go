package otel_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestARefusedClaimIsNoErrorOfTheClient, and every other error is one, without its text.
func TestARefusedClaimIsNoErrorOfTheClient(t *testing.T) {
	for kind, want := range map[string]codes.Code{
		"ConditionalCheckFailedException": codes.Unset, "ResourceNotFoundException": codes.Error,
	} {
		t.Run(kind, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				assert.NoError(t, err)
				w.WriteHeader(http.StatusBadRequest)
				assert.NoError(t, json.NewEncoder(w).Encode(map[string]string{
					"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "message": "secret",
				}))
			}))
			t.Cleanup(server.Close)
			tr := newTraced(t)
			client := dynamodb.New(dynamodb.Options{
				Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Credentials: aws.AnonymousCredentials{},
			}, tr.Client)
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: aws.String("records"),
				Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "k"}},
			})
			require.Error(t, err)
			var call tracetest.SpanStub
			for _, s := range tr.spans.GetSpans() {
				for _, a := range s.Attributes {
					assert.NotContains(t, a.Value.String(), "secret", "%s of %s", a.Key, s.Name)
				}
				if s.Name == "DynamoDB.PutItem" {
					call = s
				}
			}
			assert.Equal(t, "DynamoDB.PutItem", call.Name)
			assert.Equal(t, want, call.Status.Code)
			assert.Equal(t, kind, valueOf(call, "api.error_code"))
		})
	}
}

// TestTheSpanOfAnInvocation has what Lambda knows of it, and ends before the answer leaves.
func TestTheSpanOfAnInvocation(t *testing.T) {
	tr := newTraced(t)
	h := tr.Invocation(lambda.NewHandler(func(context.Context) (string, error) { return "done", nil }))
	ctx := lambdacontext.NewContext(t.Context(),
		&lambdacontext.LambdaContext{AwsRequestID: "id-1", InvokedFunctionArn: "arn:aws:lambda:f"})
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, cold := range []bool{true, false} {
		_, err := h.Invoke(ctx, []byte("null"))
		require.NoError(t, err)
		spans := tr.spans.GetSpans()
		require.Len(t, spans, 1)
		assert.Equal(t, "id-1", valueOf(spans[0], "faas.invocation_id"))
		assert.Equal(t, cold, valueOf(spans[0], "faas.coldstart"))
		tr.spans.Reset()
	}
}
