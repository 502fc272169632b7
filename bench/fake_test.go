package main

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

// TestTheFakeAnswersAsDynamoDB sends the same calls to both.
func TestTheFakeAnswersAsDynamoDB(t *testing.T) {
	const table = "bench-fake"
	local := dynamolocal.Client(dynamotest.Endpoint(t))
	require.NoError(t, dynamo.CreateTable(t.Context(), local, table))
	t.Cleanup(func() {
		_, err := local.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
		require.NoError(t, err)
	})
	fake := newFake().client
	m := &manual{table: table}
	claim := func(id string) *dynamodb.PutItemInput { return m.claim(t.Context(), id, "A") }
	completion := m.completion("a", "A", `{"b":"<&>\u00e4ö"}`)
	conditional := func(condition string) *dynamodb.PutItemInput {
		in := claim("a")
		in.ConditionExpression = aws.String(condition)
		in.ExpressionAttributeNames = map[string]string{"#d": "data", "#e": "expiration", "#none": "none"}
		in.ExpressionAttributeValues = item{":d": text("0"), ":n": number(5)}
		return in
	}
	removal := m.completion("a", "A", "")
	removal.UpdateExpression = aws.String("REMOVE #data, #expiration SET #status = :completed")
	removal.ConditionExpression = nil
	delete(removal.ExpressionAttributeNames, "#owner")
	removal.ExpressionAttributeValues = item{":completed": text("X")}
	bytes := claim("c")
	bytes.Item["data"] = &types.AttributeValueMemberB{Value: []byte{0, 1, 255}}

	counted := m.completion("counted", "A", "x")
	counted.ConditionExpression, counted.ReturnValues = nil, types.ReturnValueAllNew
	counted.UpdateExpression = aws.String("ADD #status :one SET #data = :data")
	counted.ExpressionAttributeNames = map[string]string{"#status": "writes", "#data": "data"}
	counted.ExpressionAttributeValues = item{":one": number(1), ":data": text("x")}

	for i, call := range []func(c *dynamodb.Client) (any, error){
		put(claim("a")), put(claim("a")), get(table, "a"), get(table, "b"),
		update(completion), update(completion), put(claim("a")), get(table, "a"),
		// The last one changes the item: all that hold come after it.
		put(conditional("#d < :d AND #e > :n AND attribute_not_exists(#none)")),
		put(conditional("#d > :d AND attribute_exists(#none) OR #e < :n AND attribute_not_exists(#none)")),
		put(conditional("#none = :d OR #d = :n OR (#e <= :n AND #d >= :d)")),
		put(conditional("#none <= :n OR #d <= :d OR #e >= :n")),
		update(removal), get(table, "a"),
		put(bytes), put(bytes), get(table, "c"),
		batchWrite(table, "p", "q"), batchGet(table, "p", "q", "missing"),
		update(m.completion("missing", "A", "x")),
		update(counted), update(counted), get(table, "counted"),
	} {
		expected, expectedErr := call(local)
		got, err := call(fake)
		assert.Equal(t, expected, got, "call %d", i+1)
		assert.Equal(t, codeOf(expectedErr), codeOf(err), "call %d: %v", i+1, err)
		refused, _ := errors.AsType[*types.ConditionalCheckFailedException](expectedErr)
		if refused != nil {
			refusedToo, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			require.True(t, ok, "call %d", i+1)
			assert.Equal(t, refused.Item, refusedToo.Item, "call %d", i+1)
			assert.Equal(t, refused.ErrorMessage(), refusedToo.ErrorMessage(), "call %d", i+1)
		}
	}
}

func codeOf(err error) string {
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok {
		return coded.ErrorCode()
	}
	return ""
}

type apiCall = func(c *dynamodb.Client) (any, error)

func put(in *dynamodb.PutItemInput) apiCall {
	return func(c *dynamodb.Client) (any, error) {
		_, err := c.PutItem(context.Background(), in)
		return nil, err
	}
}

func update(in *dynamodb.UpdateItemInput) apiCall {
	return func(c *dynamodb.Client) (any, error) {
		out, err := c.UpdateItem(context.Background(), in)
		if err != nil {
			return nil, err
		}
		return out.Attributes, nil
	}
}

func get(table, id string) apiCall {
	return func(c *dynamodb.Client) (any, error) {
		out, err := c.GetItem(context.Background(), &dynamodb.GetItemInput{
			TableName: aws.String(table), Key: item{"id": text(id)}, ConsistentRead: aws.Bool(true),
		})
		return out.Item, err
	}
}

func batchWrite(table string, ids ...string) apiCall {
	writes := make([]types.WriteRequest, len(ids))
	for i, id := range ids {
		writes[i].PutRequest = &types.PutRequest{Item: item{"id": text(id), "data": text("part " + id)}}
	}
	return func(c *dynamodb.Client) (any, error) {
		out, err := c.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{table: writes},
		})
		return out.UnprocessedItems, err
	}
}

// batchGet returns the items by their id: their order is not defined.
func batchGet(table string, ids ...string) apiCall {
	keys := make([]item, len(ids))
	for i, id := range ids {
		keys[i] = item{"id": text(id)}
	}
	return func(c *dynamodb.Client) (any, error) {
		out, err := c.BatchGetItem(context.Background(), &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		})
		found := make(map[string]item)
		for _, it := range out.Responses[table] {
			found[it["id"].(*types.AttributeValueMemberS).Value] = it
		}
		return []any{found, out.UnprocessedKeys}, err
	}
}

func TestTheFakeRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	c := newFake().client
	m := &manual{table: "idempotency"}
	put := func(condition string) error {
		in := m.claim(t.Context(), "a", "A")
		in.ConditionExpression = aws.String(condition)
		_, err := c.PutItem(t.Context(), in)
		return err
	}
	for _, condition := range []string{
		"size(#id) = :now", "#id", "#id =", "begins_with(#id, :now)", "#what = :now", "#id = :what", "(#id = :now",
		"#id = :now #id", "NOT #id = :now",
	} {
		assert.Equal(t, "ValidationException", codeOf(put(condition)), condition)
	}
	in := m.completion("a", "A", "x")
	in.ConditionExpression = nil
	for _, update := range []string{"DELETE #data :data", "ADD #data :data", "ADD #status :expiration, #status :data"} {
		in.UpdateExpression = aws.String(update)
		_, err := c.UpdateItem(t.Context(), in)
		assert.Equal(t, "ValidationException", codeOf(err), update)
	}
	_, err := c.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("idempotency")})
	assert.Equal(t, "ValidationException", codeOf(err))
}

func TestTheFakePlaysWhatWasRehearsedAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := f.client
	m := &manual{table: "idempotency"}
	once := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }
	put := func(id string) error {
		_, err := c.PutItem(t.Context(), m.claim(t.Context(), id, "A"), once)
		return err
	}
	require.NoError(t, put("a"))
	require.Error(t, f.rehearse(func() error { return put("a") }))
	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](put("b"))
	require.True(t, ok)
	assert.Equal(t, text("a"), refused.Item["id"])
	_, err := c.UpdateItem(t.Context(), m.completion("a", "A", "x"), once)
	assert.ErrorContains(t, err, "UpdateItem is not what was rehearsed")

	require.Error(t, f.rehearse(func() error { return errors.Join(put("c"), put("c")) }))
	for range 2 {
		require.NoError(t, put("d"), "the first call of a delivery")
		require.Error(t, put("d"), "the second one")
	}
}
