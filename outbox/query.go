package outbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// pageSize is how many entries of the index are read at once.
const pageSize = 500

// indexed is a message in the index.
type indexed struct {
	ID        string `dynamodbav:"id"`
	Shard     string `dynamodbav:"outbox_shard"`
	Due       int64  `dynamodbav:"outbox_due"`
	CreatedAt int64  `dynamodbav:"created_at"`
}

// query reads a page of a shard of the index, which may be late. A cursor is what is due and the id of the last entry that was read.
func (b *box) query(ctx context.Context, shard, cursor string) (page []indexed, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(b.table), IndexName: aws.String(Index), Limit: aws.Int32(pageSize),
		KeyConditionExpression: aws.String("outbox_shard = :shard"), ExpressionAttributeValues: attributes{":shard": text(shard)},
	}
	if cursor != "" {
		due, id, _ := strings.Cut(cursor, " ")
		n, err := strconv.ParseInt(due, 10, 64)
		if err != nil {
			return nil, "", fmt.Errorf("outbox: a cursor begins with no number: %w", err)
		}
		in.ExclusiveStartKey = attributes{attributeID: text(id), attributeShard: text(shard), attributeDue: number(n)}
	}
	out, err := b.client.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("outbox: read the index %s: %w", Index, err)
	}
	if err := attributevalue.UnmarshalListOfMaps(out.Items, &page); err != nil {
		return nil, "", fmt.Errorf("outbox: read the index %s: an entry is not one of a message: %w", Index, err)
	}
	if len(out.LastEvaluatedKey) == 0 {
		return page, "", nil
	}
	var last indexed
	if err := attributevalue.UnmarshalMap(out.LastEvaluatedKey, &last); err != nil {
		return nil, "", fmt.Errorf("outbox: read the index %s: %w", Index, err)
	}
	return page, fmt.Sprintf("%d %s", last.Due, last.ID), nil
}
