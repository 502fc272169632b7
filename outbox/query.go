package outbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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

// query reads a page of a shard of the index, which may be late. What is no message there is only
// counted. A cursor is what is due and the id of the last entry that was read.
func (b *box) query(ctx context.Context, shard, cursor string) (page []indexed, foreign int, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(b.table), IndexName: aws.String(Index), Limit: aws.Int32(pageSize),
		KeyConditionExpression:    aws.String("outbox_shard = :shard"),
		ExpressionAttributeValues: attributes{":shard": text(shard)},
	}
	if due, id, is := strings.Cut(cursor, " "); is {
		in.ExclusiveStartKey = attributes{
			attributeID: text(id), attributeShard: text(shard), attributeDue: &types.AttributeValueMemberN{Value: due},
		}
	}
	out, err := b.client.Query(ctx, in)
	if err != nil {
		return nil, 0, "", fmt.Errorf("outbox: read the index %s: %w", Index, err)
	}
	for _, it := range out.Items {
		var entry indexed
		if attributevalue.UnmarshalMap(it, &entry) != nil {
			foreign++
			continue
		}
		page = append(page, entry)
	}
	if len(out.LastEvaluatedKey) == 0 {
		return page, foreign, "", nil
	}
	var last struct {
		ID  string                `dynamodbav:"id"`
		Due attributevalue.Number `dynamodbav:"outbox_due"` // any number, as it is
	}
	if err := attributevalue.UnmarshalMap(out.LastEvaluatedKey, &last); err != nil {
		return nil, 0, "", fmt.Errorf("outbox: read the index %s: its last key is none: %w", Index, err)
	}
	return page, foreign, string(last.Due) + " " + last.ID, nil
}
