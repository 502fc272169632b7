package dynamo_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/configtest"
	"github.com/go-idempotent/idempotent/store"
)

func noTable(name string) string {
	return fmt.Sprintf("dynamo.New: table %q is not the name or ARN of a DynamoDB table", name)
}

func TestConfigurationProblemsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	var none *dynamodb.Client
	require.Equal(t, []string{
		"dynamo.New: the client is nil", noTable(""), "dynamo.New: there are 2 values of Config, and one counts",
		"dynamo.New: InlineLimit: 393217 is more than 393216 bytes",
	}, configtest.ProblemsOf(t, func() { dynamo.New(none, "", dynamo.Config{InlineLimit: 393217}, dynamo.Config{}) }))
}

func TestNamesOfTables(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"abc", "Idempotency_1.prod-eu", strings.Repeat("a", 255),
		"arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/idempotency",
	} {
		require.NotPanics(t, func() { dynamo.New(wall(nil), name, dynamo.Config{InlineLimit: 393216}) }, name)
	}
	for _, name := range []string{
		"", "ab", strings.Repeat("a", 256), "my table", "tab\nle", "table\n", "täble", "a/b", "a:b:c",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/ab",
		"arn:aws:dynamodb:eu-central-1:123456789012:index/idempotency",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency/index/x",
		"arn:aws:dynamodb:eu-central-1:12345678901:table/idempotency",
		"arn:aws:dynamodb:eu-central-1:12345678901x:table/idempotency",
		"arn:aws:s3:eu-central-1:123456789012:table/idempotency",
		"arn:AWS:dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn::dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn:aws:dynamodb::123456789012:table/idempotency",
		"xrn:aws:dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency:x",
	} {
		require.Equal(t, []string{noTable(name)}, configtest.ProblemsOf(t, func() { dynamo.New(wall(nil), name) }))
	}
}

// TestZeroStoreSaysSo: a Store that New has not made has no client and no table.
func TestZeroStoreSaysSo(t *testing.T) {
	t.Parallel()
	var none *dynamo.Store
	for name, s := range map[string]*dynamo.Store{"zero": {}, "nil": none} {
		large := completion(record("k"), bytes.Repeat([]byte("x"), 10_000))
		errs := everyCall(t.Context(), s)
		_, _, errs["commit"] = s.Commit(t.Context(), record("k"), completion(record("k"), []byte("x")), nil, "token")
		errs["apply"] = s.Apply(t.Context(), nil, "token")
		for op, err := range errs {
			requireStoreError(t, err, op, store.FailureRejected, true)
			require.ErrorContains(t, err, "dynamo.New has not made this Store", name)
		}
		_, _, err := s.Claim(t.Context(), large, claimTime)
		requireStoreError(t, err, "claim", store.FailureRejected, true)
		_, _, err = s.Swap(t.Context(), record("k"), large)
		requireStoreError(t, err, "swap", store.FailureRejected, true)
		require.Equal(t, []string{"dynamo.New has not made this Store: its zero value is not usable"},
			problemsOf(t, s.Check(t.Context())))
	}

	h := idempotent.Wrap(func(context.Context,
		events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		panic("executes")
	}, new(dynamo.Store))
	out, err := h.Invoke(t.Context(),
		[]byte(`{"headers":{"idempotency-key":"k"},"rawPath":"/","requestContext":{"http":{"method":"POST"}}}`))
	require.NoError(t, err)
	require.Contains(t, string(out), `"statusCode":503`)
}

func TestActionsAreTheCallsOfAClient(t *testing.T) {
	t.Parallel()
	client := reflect.TypeFor[dynamo.Client]()
	calls := make([]string, client.NumMethod())
	for i := range calls {
		calls[i] = "dynamodb:" + client.Method(i).Name
	}
	require.Equal(t, calls, dynamo.Actions(), "reflection sorts by name")
}
