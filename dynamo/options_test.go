package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

func TestConfigurationProblemsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	const (
		nilClient = "dynamo.New: the client is nil"
		badLimit  = "WithInlineLimit: -1 is not between 0 and 393216 bytes"
	)
	var typedNil *dynamodb.Client
	for name, c := range map[string]struct {
		client   dynamo.Client
		table    string
		opts     []dynamo.Option
		problems []string
	}{
		"nil client":       {nil, table, nil, []string{nilClient}},
		"typed nil client": {typedNil, table, nil, []string{nilClient}},
		"no table":         {shelf{}, "", nil, []string{`dynamo.New: table "" is not the name or ARN of a DynamoDB table`}},
		"short name":       {shelf{}, "ab", nil, []string{`dynamo.New: table "ab" is not the name or ARN of a DynamoDB table`}},
		"bad name":         {shelf{}, "my table\n", nil, []string{`dynamo.New: table "my table\n" is not the name or ARN of a DynamoDB table`}},
		"limit too large":  {shelf{}, table, []dynamo.Option{dynamo.WithInlineLimit(393217)}, []string{"WithInlineLimit: 393217 is not between 0 and 393216 bytes"}},
		"everything": {nil, "", []dynamo.Option{nil, dynamo.WithInlineLimit(-1)}, []string{
			nilClient, `dynamo.New: table "" is not the name or ARN of a DynamoDB table`, "dynamo.New: option 1 is nil", badLimit,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				ce, ok := recover().(*store.ConfigError)
				require.True(t, ok)
				require.Equal(t, c.problems, ce.Problems)
			}()
			dynamo.New(c.client, c.table, c.opts...)
			t.Fatal("New did not panic")
		})
	}
}

func TestTablesThatAreAccepted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"abc", "Idempotency_1.prod-eu", strings.Repeat("a", 255),
		"arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/idempotency",
	} {
		require.NotPanics(t, func() { dynamo.New(shelf{}, name, dynamo.WithInlineLimit(0), dynamo.WithInlineLimit(393216)) }, name)
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "ab", strings.Repeat("a", 256), "my table", "tab\nle", "täble", "a/b", "a:b:c",
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
		require.Panics(t, func() { dynamo.New(shelf{}, name) }, name)
	}
}
