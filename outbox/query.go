package outbox

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/relay"
)

// pageSize is how many entries of the index are read at once.
const pageSize = 500

// entries yields what a shard of the index has, which may be late. What is no message there is only
// counted. An error ends it.
func (b *box) entries(ctx context.Context, shard string, foreign *int) iter.Seq2[relay.Listed, error] {
	return func(yield func(relay.Listed, error) bool) {
		pages := dynamodb.NewQueryPaginator(b.client, &dynamodb.QueryInput{
			TableName: aws.String(b.table), IndexName: aws.String(Index), Limit: aws.Int32(pageSize),
			KeyConditionExpression:    aws.String("outbox_shard = :shard"),
			ExpressionAttributeValues: attributes{":shard": text(shard)},
		})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				yield(relay.Listed{}, fmt.Errorf("outbox: read the index %s: %w", Index, err))
				return
			}
			for _, it := range out.Items {
				var m stored
				if attributevalue.UnmarshalMap(it, &m) != nil {
					*foreign++
					continue
				}
				listed := relay.Listed{ID: m.ID, Due: time.UnixMilli(m.Due), Created: time.UnixMilli(m.CreatedAt)}
				if !yield(listed, nil) {
					return
				}
			}
		}
	}
}
