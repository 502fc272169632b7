// Package rows opens the tables of the orders for a run on this machine: that of the orders, and the outbox of their messages. They are where
// the idempotency records are: an order is written in one transaction with its answer. The store in memory has no transactions, so beside
// it there are no rows and no messages.
package rows

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/outbox"
)

// The names of the tables in the environment.
const (
	OrdersVariable = "ORDERS_TABLE"
	OutboxVariable = "OUTBOX_TABLE"
)

// Tables are those of the orders. Their names are empty if no rows are kept. Open them with [Open].
type Tables struct {
	order.Tables

	endpoint string
	client   *dynamodb.Client
}

// Open opens the tables where the records are. They are created if they are not there; without names they are "orders" and "outbox".
func Open(ctx context.Context, getenv func(string) string, records localstore.Settings) (Tables, error) {
	if records.Endpoint == "" {
		return Tables{}, nil
	}
	t := Tables{Named(getenv), records.Endpoint, records.Client()}
	t.Orders, t.Outbox = cmp.Or(t.Orders, "orders"), cmp.Or(t.Outbox, "outbox")
	if err := order.CreateTable(ctx, t.client, t.Orders); err != nil {
		return Tables{}, err
	}
	if err := outbox.CreateTable(ctx, t.client, t.Outbox); err != nil {
		return Tables{}, fmt.Errorf("the outbox: %w", err)
	}
	return t, nil
}

// Named are the tables that the environment names.
func Named(getenv func(string) string) order.Tables {
	return order.Tables{Orders: getenv(OrdersVariable), Outbox: getenv(OutboxVariable)}
}

// Kept reports whether there are rows and messages.
func (t Tables) Kept() bool { return t.Tables != order.Tables{} }

// Client is one of the server that the tables are on.
func (t Tables) Client() *dynamodb.Client { return t.client }

// String says where the orders are, in a sentence.
func (t Tables) String() string {
	if !t.Kept() {
		return "No rows of the orders are kept, and NO MESSAGES leave, so the mail is never asked: the store in memory has no transactions, " +
			"STORE=dynamodb has."
	}
	return fmt.Sprintf("Each order is a row in table %s and a message in table %s, written in one transaction with its answer.", t.Orders, t.Outbox)
}

// Count is how many rows there are for an address.
func (t Tables) Count(ctx context.Context, email string) (count int, err error) {
	if !t.Kept() {
		return 0, nil
	}
	return t.scan(ctx, t.Orders, "email = :email", email)
}

// Pending is how many messages for an address are not delivered yet.
func (t Tables) Pending(ctx context.Context, email string) (count int, err error) {
	if !t.Kept() {
		return 0, nil
	}
	return t.scan(ctx, t.Outbox, "attribute_exists(outbox_due) AND contains(body, :email)", `"`+email+`"`)
}

// scan counts the items that a filter takes.
func (t Tables) scan(ctx context.Context, table, filter, email string) (count int, err error) {
	for pages := dynamodb.NewScanPaginator(t.client, &dynamodb.ScanInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true), FilterExpression: aws.String(filter),
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
