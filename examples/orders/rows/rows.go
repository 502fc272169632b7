// Package rows opens the table of the orders for a run on this machine. It is where the idempotency records are: an order is written in one
// transaction with its answer. The store in memory has no transactions, so beside it no rows are kept.
package rows

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/orders/order"
)

// Variable names the table in the environment.
const Variable = "ORDERS_TABLE"

// Table is that of the orders. Open it with [Open].
type Table struct {
	// Name is empty if no rows are kept.
	Name string

	client *dynamodb.Client
}

// Open opens the table where the records are. It is created if it is not there; without a name it is "orders".
func Open(ctx context.Context, name string, records localstore.Settings) (Table, error) {
	if records.Endpoint == "" {
		return Table{}, nil
	}
	t := Table{Name: cmp.Or(name, "orders"), client: records.Client()}
	return t, order.CreateTable(ctx, t.client, t.Name)
}

// String says where the orders are, in a sentence.
func (t Table) String() string {
	if t.Name == "" {
		return "No rows of the orders are kept: the store in memory has no transactions, STORE=dynamodb has."
	}
	return "Each order is a row in table " + t.Name + ", written in one transaction with its answer."
}

// Count is how many rows there are for an address.
func (t Table) Count(ctx context.Context, email string) (count int, err error) {
	if t.Name == "" {
		return 0, nil
	}
	for pages := dynamodb.NewScanPaginator(t.client, &dynamodb.ScanInput{
		TableName: aws.String(t.Name), ConsistentRead: aws.Bool(true), FilterExpression: aws.String("email = :email"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":email": &types.AttributeValueMemberS{Value: email}},
	}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		count += len(page.Items)
	}
	return count, nil
}
