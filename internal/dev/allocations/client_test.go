//go:build !race

package allocations

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const table = "idempotency"

type item = map[string]types.AttributeValue

// agreeable is a client that lets every write happen and keeps none of them, except that it holds
// these items under their ids.
type agreeable map[string]item

func idOf(i item) string { return i["id"].(*types.AttributeValueMemberS).Value }

func (a agreeable) PutItem(_ context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	if held := a[idOf(in.Item)]; held != nil {
		return nil, &types.ConditionalCheckFailedException{Item: held}
	}
	return &dynamodb.PutItemOutput{}, nil
}

func (agreeable) UpdateItem(context.Context, *dynamodb.UpdateItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

func (agreeable) DeleteItem(context.Context, *dynamodb.DeleteItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, nil
}

func (a agreeable) GetItem(_ context.Context, in *dynamodb.GetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: a[idOf(in.Key)]}, nil
}

func (agreeable) BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	return &dynamodb.BatchWriteItemOutput{}, nil
}

func (a agreeable) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	found := make(map[string][]item, 1)
	for name, of := range in.RequestItems {
		for _, key := range of.Keys {
			found[name] = append(found[name], a[idOf(key)])
		}
	}
	return &dynamodb.BatchGetItemOutput{Responses: found}, nil
}

func (agreeable) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
	...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// recorder is a client of a server in memory.
type recorder struct {
	*dynamodb.Client

	wire *wire
}

// items are what was written as it is now.
func (r *recorder) items(t *testing.T) agreeable {
	t.Helper()
	out, err := r.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
	require.NoError(t, err)
	all := agreeable{}
	for _, it := range out.Items {
		all[idOf(it)] = it
	}
	return all
}

func record() *recorder {
	w := &wire{server: new(dynamofake.Server), replies: map[string][]byte{}, statuses: map[string]int{}}
	return &recorder{
		wire:   w,
		Client: dynamolocal.Client("http://dynamodb.invalid", func(o *dynamodb.Options) { o.HTTPClient = w }),
	}
}

// wire is DynamoDB below the SDK. When it plays, it answers each operation as it was answered last.
type wire struct {
	server   *dynamofake.Server
	play     bool
	replies  map[string][]byte
	statuses map[string]int
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if !w.play && err == nil {
		w.statuses[operation], w.replies[operation] = w.server.Answer(operation, body)
	}
	return &http.Response{
		StatusCode: w.statuses[operation], Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(w.replies[operation])), ContentLength: int64(len(w.replies[operation])),
	}, err
}

// after returns a client that holds what a delivery has left.
func after(t *testing.T, h func(context.Context, request) (response, error), payload []byte) agreeable {
	t.Helper()
	r := record()
	_, err := idempotent.Wrap(h, dynamo.New(r, table)).Invoke(invocation(), payload)
	require.NoError(t, err)
	return r.items(t)
}

// during returns a client that holds what a delivery has while its handler runs.
func during(t *testing.T, h func(context.Context, request) (response, error), payload []byte) agreeable {
	t.Helper()
	r, held := record(), agreeable{}
	_, err := idempotent.Wrap(func(ctx context.Context, in request) (response, error) {
		maps.Copy(held, r.items(t))
		return h(ctx, in)
	}, dynamo.New(r, table)).Invoke(invocation(), payload)
	require.NoError(t, err)
	return held
}
