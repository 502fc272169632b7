package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tables are where an order is written, by name. They are on DynamoDB, where the idempotency records are, in the same account and Region.
// Without names nothing is written beside the answer, no row and no message: that is for a store in memory, which has no transactions.
type Tables struct {
	// Orders has the orders, see [Row], Outbox their messages, see package outbox.
	Orders, Outbox string
}

// PlacedTopic is the topic of the message that an order was placed.
const PlacedTopic = "order-placed"

// Placed is the body of that message, and its JSON is what the mail gets.
type Placed struct {
	OrderID string `json:"order_id"`
	Email   string `json:"email"`
}

// Row is an order in the table. It is written in one transaction with the answer that tells of it: neither is ever there without the other
// one having been written.
type Row struct {
	// OrderID is the key derived for the order: another attempt of the same request writes the same row.
	OrderID       string `dynamodbav:"order_id"`
	ReservationID string `dynamodbav:"reservation_id"`
	ChargeID      string `dynamodbav:"charge_id"`
	SKU           string `dynamodbav:"sku"`
	Quantity      int64  `dynamodbav:"quantity"`
	// Amount counts the smallest unit of the currency.
	Amount   int64  `dynamodbav:"amount"`
	Currency string `dynamodbav:"currency"`
	Email    string `dynamodbav:"email"`
}

// partitionKey is the attribute by which the table finds a row.
const partitionKey = "order_id"

// readyLimit is how long a new table may take.
const readyLimit = time.Minute

// TableDefinition is the table of the orders, billed on demand.
func TableDefinition(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String(partitionKey), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String(partitionKey), KeyType: types.KeyTypeHash}},
	}
}

// CreateTable creates the table of the orders, for runs on this machine and tests; the template has the one that is deployed. A table
// that exists is left as it is.
func CreateTable(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.CreateTable(ctx, TableDefinition(name))
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return fmt.Errorf("create table %q: %w", name, err)
	}
	ready := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	})
	if err := ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, readyLimit); err != nil {
		return fmt.Errorf("table %q is not ready: %w", name, err)
	}
	return nil
}
