package dynamolocal

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/logging"
	"github.com/stretchr/testify/require"
)

// lines are what a client of the SDK logs.
type lines struct{ strings.Builder }

// to makes a client log here. Without a logger it would be silent whatever happens.
func (l *lines) to(o *dynamodb.Options) {
	o.Logger = logging.LoggerFunc(func(level logging.Classification, format string, v ...any) {
		fmt.Fprintf(l, "%s "+format+"\n", append([]any{level}, v...)...)
	})
}

// write puts an item, which must not be there.
func write(ctx context.Context, client *dynamodb.Client, table string) error {
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:           aws.String(table),
		Item:                map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "k"}},
		ConditionExpression: aws.String("attribute_not_exists(id)"),
	})
	return err
}

func requireRefused(t *testing.T, err error) {
	t.Helper()
	var refused *types.ConditionalCheckFailedException
	require.ErrorAs(t, err, &refused)
}

// TestTheWarningIsTheOneThatIsSilenced looks at the SDK with and without the option, at a server
// that refuses as DynamoDB Local does: without a checksum. When the first half fails, the SDK no
// longer warns, and the option can go.
func TestTheWarningIsTheOneThatIsSilenced(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`)
	}))
	t.Cleanup(server.Close)

	loud := &lines{}
	requireRefused(t, write(t.Context(), Client(server.URL, loud.to, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = false
	}), "table"))
	require.Contains(t, loud.String(), "response did not match expected checksum")

	silent := &lines{}
	requireRefused(t, write(t.Context(), Client(server.URL, silent.to), "table"))
	require.Empty(t, silent.String())
}
