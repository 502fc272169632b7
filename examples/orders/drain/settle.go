package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/orders/shop"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// rows is the table of the orders.
type rows struct {
	client *dynamodb.Client
	table  string
}

// resolve says what became of an order. Its row is written in one transaction with its answer: if
// the row is there, the order was placed. If it is not, the client's next request goes on after the
// last step.
func (r rows) resolve(ctx context.Context, x idempotent.Execution) (idempotent.Resolution[shop.Response], error) {
	unknown := idempotent.StillUnknown[shop.Response]()
	id := &types.AttributeValueMemberS{Value: x.DerivedKey(shop.OrderKey)}
	out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(r.table), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{shop.PartitionKey: id},
	})
	if err != nil || out.Item == nil {
		return unknown, err
	}
	var row shop.Row
	if err := attributevalue.UnmarshalMap(out.Item, &row); err != nil {
		return unknown, err
	}
	answer, err := row.Answer()
	if err != nil {
		return unknown, err
	}
	return idempotent.Executed(answer), nil
}

// count counts the records of an operation that somebody has to settle, and those of them that were
// given up, and writes one line of metrics. If it cannot read all records it writes none: half a
// count would look like half of the trouble.
func count(ctx context.Context, operator *operate.Operator, operation string,
	write func(context.Context, report.Attention) error,
) error {
	a, now := report.Attention{Operation: operation}, time.Now()
	for listed, err := range operator.List(ctx, operate.Query{Operation: operation}) {
		var unreadable *store.UnreadableError
		switch {
		case errors.As(err, &unreadable): // one record, which somebody has to look at all the more
			slog.WarnContext(ctx, "a record cannot be understood", "record", listed.Record.Key, "error", err)
			a.Open++
		case err != nil:
			return fmt.Errorf("count %s: %w", operation, err)
		default:
			a.Open++
			if listed.Record.GivenUp() {
				a.GivenUp++
			}
			a.Oldest = max(a.Oldest, now.Sub(listed.Record.AttentionAt))
		}
	}
	return write(ctx, a)
}
