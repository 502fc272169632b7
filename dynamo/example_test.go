package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
)

// A function makes one store when it starts and shares it among its handlers.
func ExampleNew() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(time.Second)
	})
	store := dynamo.New(client, os.Getenv("IDEMPOTENCY_TABLE"))

	_ = store // goes to idempotent.Wrap
}

// A deployment checks the table before the first request does.
func ExampleStore_Check() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	store := dynamo.New(dynamodb.NewFromConfig(cfg), "idempotency", dynamo.Config{InlineLimit: 16 << 10})
	if err := store.Check(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A tool or a local run makes the table itself.
func ExampleCreateTable() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	if err := dynamo.CreateTable(context.Background(), dynamodb.NewFromConfig(cfg), "idempotency"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A table that AWS Powertools made, with a sort key and names of its own.
func ExampleConfig() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	store := dynamo.New(dynamodb.NewFromConfig(cfg), "app-table",
		dynamo.Config{
			SortKey: "sk", Partition: "idempotency#orders-fn", // sort_key_attr, static_pk_value
			Attributes: dynamo.Attributes{Key: "pk", Expiration: "ttl"},
		})

	_ = store // goes to idempotent.Wrap, with idempotent.WithPowertools
}

// Order is a row of the table of orders.
type Order struct {
	ID  string `dynamodbav:"order_id" json:"order_id"`
	SKU string `dynamodbav:"sku"      json:"sku"`
}

// orderOf is the order of a request, if there is one in it.
func orderOf(req events.APIGatewayV2HTTPRequest) (row Order, ok bool) {
	err := json.Unmarshal([]byte(req.Body), &row)
	return row, err == nil && row.ID != ""
}

// An order is a row, and its answer is stored: both in one transaction, or neither.
func ExampleCommit() { //nolint:testableexamples // it needs tables
	placeOrder := func(ctx context.Context,
		req events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		row, ok := orderOf(req)
		if !ok {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil
		}
		created := events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: req.Body}
		return dynamo.Commit(ctx, created,
			dynamo.Put(os.Getenv("ORDERS_TABLE"), row, dynamo.IfAbsent("order_id")))
	}

	_ = placeOrder // goes to idempotent.Wrap
}

// The id of the order is taken. The client gets a 409 with the order that has it, and so does each
// retry.
func ExampleConditionError() { //nolint:testableexamples // it needs tables
	_ = placeOrderOrShowTheOther // goes to idempotent.Wrap
}

func placeOrderOrShowTheOther(ctx context.Context,
	req events.APIGatewayV2HTTPRequest,
) (events.APIGatewayV2HTTPResponse, error) {
	row, ok := orderOf(req)
	if !ok {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil
	}
	created := events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: req.Body}
	out, err := dynamo.Commit(ctx, created,
		dynamo.Put(os.Getenv("ORDERS_TABLE"), row, dynamo.IfAbsent("order_id"), dynamo.ReturnOld()))
	if refused, ok := errors.AsType[*dynamo.ConditionError](err); ok {
		return taken(refused)
	}
	return out, err
}

// taken is a 409 with the order that is there.
func taken(refused *dynamo.ConditionError) (events.APIGatewayV2HTTPResponse, error) {
	var there Order
	if err := attributevalue.UnmarshalMap(refused.Refused[0].Old, &there); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	body, err := json.Marshal(there)
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	conflict := events.APIGatewayV2HTTPResponse{StatusCode: http.StatusConflict, Body: string(body)}
	return conflict, idempotent.Terminal(refused) // stored: each retry gets this 409
}

// Purchase is an order with what belongs to it.
type Purchase struct {
	ID       string `dynamodbav:"order_id" json:"order_id"`
	SKU      string `dynamodbav:"sku"      json:"sku"`
	Quantity int    `dynamodbav:"quantity" json:"quantity"`
	Customer string `dynamodbav:"customer" json:"customer"`
	Charge   string `dynamodbav:"charge"   json:"charge"`
}

// A write of the SDK is an item as it is.
func ExampleItem() { //nolint:testableexamples // it needs tables
	_ = count // goes to idempotent.Wrap
}

func count(ctx context.Context, p Purchase) (Purchase, error) {
	write := types.TransactWriteItem{Update: &types.Update{
		TableName:        aws.String("counters"),
		Key:              map[string]types.AttributeValue{"name": &types.AttributeValueMemberS{Value: "orders"}},
		UpdateExpression: aws.String("ADD orders :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":one": &types.AttributeValueMemberN{Value: "1"},
		},
	}}
	return dynamo.Commit(ctx, p,
		dynamo.Put("orders", p, dynamo.IfAbsent("order_id")),
		dynamo.Item{TransactWriteItem: write})
}

// The order, the stock, the cart and the customer are in tables of their own. All of it happens, or
// nothing does.
func ExampleItem_severalTables() { //nolint:testableexamples // it needs tables
	_ = buy // goes to idempotent.Wrap
}

func buy(ctx context.Context, p Purchase) (Purchase, error) {
	stock := types.TransactWriteItem{Update: &types.Update{
		TableName:           aws.String("stock"),
		Key:                 key("sku", p.SKU),
		UpdateExpression:    aws.String("SET available = available - :n"),
		ConditionExpression: aws.String("available >= :n"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":n": &types.AttributeValueMemberN{Value: strconv.Itoa(p.Quantity)},
		},
	}}
	cart := types.TransactWriteItem{Delete: &types.Delete{
		TableName: aws.String("carts"), Key: key("customer", p.Customer),
	}}
	customer := types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName:           aws.String("customers"),
		Key:                 key("customer", p.Customer),
		ConditionExpression: aws.String("attribute_exists(customer)"),
	}}
	return dynamo.Commit(ctx, p,
		dynamo.Put("orders", p, dynamo.IfAbsent("order_id")),
		dynamo.Item{TransactWriteItem: stock},
		dynamo.Item{TransactWriteItem: cart},
		dynamo.Item{TransactWriteItem: customer})
}

func key(name, value string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{name: &types.AttributeValueMemberS{Value: value}}
}

// The charge is an effect outside of DynamoDB, so it is a step. The row and the answer have its
// result.
func ExampleCommit_afterSteps() { //nolint:testableexamples // it needs tables
	_ = chargeAndStore // goes to idempotent.Wrap
}

func chargeAndStore(ctx context.Context, p Purchase) (Purchase, error) {
	charge, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
		return pay(ctx, idempotent.DerivedKey(ctx, ""), p)
	})
	if err != nil {
		return Purchase{}, err
	}
	p.ID, p.Charge = idempotent.DerivedKey(ctx, "order"), charge
	return dynamo.Commit(ctx, p, dynamo.Put("orders", p, dynamo.IfAbsent("order_id")))
}

// pay stands for the client of a payment provider.
func pay(_ context.Context, key string, _ Purchase) (string, error) { return "ch-" + key, nil }
