package dynamo_test

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// fake is a client that asks nobody, and ignores the options of a call: what is answered to an
// input is what the function says. It may leave out an output without anything in it.
type fake func(ctx context.Context, in any) (out any, err error)

func answered[Out any](ctx context.Context, f fake, in any) (*Out, error) {
	out, err := f(ctx, in)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return new(Out), nil
	}
	return out.(*Out), nil
}

func (f fake) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return answered[dynamodb.PutItemOutput](ctx, f, in)
}

func (f fake) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return answered[dynamodb.UpdateItemOutput](ctx, f, in)
}

func (f fake) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return answered[dynamodb.DeleteItemOutput](ctx, f, in)
}

func (f fake) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return answered[dynamodb.GetItemOutput](ctx, f, in)
}

func (f fake) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	return answered[dynamodb.BatchWriteItemOutput](ctx, f, in)
}

func (f fake) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return answered[dynamodb.BatchGetItemOutput](ctx, f, in)
}

// wall is a client whose every write is refused by one item, and whose parts are those that are
// given.
func wall(it item, parts ...item) fake {
	return func(_ context.Context, in any) (any, error) {
		switch in.(type) {
		case *dynamodb.GetItemInput:
			return &dynamodb.GetItemOutput{Item: it}, nil
		case *dynamodb.BatchGetItemInput:
			return &dynamodb.BatchGetItemOutput{Responses: map[string][]item{table: parts}}, nil
		default:
			return nil, &types.ConditionalCheckFailedException{Item: it}
		}
	}
}

// memoryTable is a client that keeps items and knows no conditions. It processes a few items of
// each batch, and says no more if it has no capacity at all.
type memoryTable struct {
	fake

	items    map[string]item
	perRound int
	rounds   int // of batches
	most     int // of the writes in a round
}

func newMemoryTable() *memoryTable {
	m := &memoryTable{items: map[string]item{}, perRound: 100}
	m.fake = m.answer
	return m
}

func idOf(it item) string { return it["id"].(*types.AttributeValueMemberS).Value }

func dataOf(it item) []byte { return it["data"].(*types.AttributeValueMemberB).Value }

func (m *memoryTable) answer(_ context.Context, in any) (any, error) {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		m.items[idOf(in.Item)] = in.Item
	case *dynamodb.GetItemInput:
		return &dynamodb.GetItemOutput{Item: m.items[idOf(in.Key)]}, nil
	case *dynamodb.BatchWriteItemInput:
		return m.write(in.RequestItems[table]), nil
	case *dynamodb.BatchGetItemInput:
		return m.read(in.RequestItems[table].Keys), nil
	}
	return nil, nil
}

func (m *memoryTable) write(writes []types.WriteRequest) *dynamodb.BatchWriteItemOutput {
	m.rounds++
	m.most = max(m.most, len(writes))
	n := min(m.perRound, len(writes))
	for _, w := range writes[:n] {
		m.items[idOf(w.PutRequest.Item)] = w.PutRequest.Item
	}
	out := &dynamodb.BatchWriteItemOutput{}
	if n < len(writes) {
		out.UnprocessedItems = map[string][]types.WriteRequest{table: writes[n:]}
	}
	return out
}

func (m *memoryTable) read(keys []item) *dynamodb.BatchGetItemOutput {
	m.rounds++
	n := min(m.perRound, len(keys))
	var found []item
	for _, key := range keys[:n] {
		if it, is := m.items[idOf(key)]; is {
			found = append(found, it)
		}
	}
	slices.Reverse(found) // an answer is in no particular order
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]item{table: found}}
	if n < len(keys) {
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{table: {Keys: keys[n:]}}
	}
	return out
}

// between is an option of a client: f stands between the program and the SDK, and sees the input
// and the output of each call.
func between(f func(ctx context.Context, in any, send func() (any, error)) (any, error)) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Between", func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
				out.Result, err = f(ctx, in.Parameters, func() (any, error) {
					var sent middleware.InitializeOutput
					sent, metadata, err = next.HandleInitialize(ctx, in)
					return sent.Result, err
				})
				return out, metadata, err
			}), middleware.Before)
		})
	}
}
