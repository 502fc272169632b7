package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
)

// Order is a row of the table of orders.
type Order struct {
	ID  string `dynamodbav:"order_id" json:"order_id"`
	SKU string `dynamodbav:"sku" json:"sku"`
}

// An order is a row, and its answer is stored: both in one transaction, or neither.
func ExampleCommit() { //nolint:testableexamples // it needs tables
	placeOrder := func(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		var row Order
		if err := json.Unmarshal([]byte(req.Body), &row); err != nil || row.ID == "" {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil
		}
		created := events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: req.Body}
		return dynamo.Commit(ctx, created,
			dynamo.Put(os.Getenv("ORDERS_TABLE"), row, dynamo.IfAbsent("order_id")))
	}

	_ = placeOrder // goes to idempotent.Wrap
}

// The id of the order is taken. The client gets a 409 with the order that has it, and so does each retry.
func ExampleConditionError() { //nolint:testableexamples // it needs tables
	_ = placeOrderOrShowTheOther // goes to idempotent.Wrap
}

func placeOrderOrShowTheOther(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	var row Order
	if err := json.Unmarshal([]byte(req.Body), &row); err != nil || row.ID == "" {
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
	SKU      string `dynamodbav:"sku" json:"sku"`
	Quantity int    `dynamodbav:"quantity" json:"quantity"`
	Customer string `dynamodbav:"customer" json:"customer"`
	Charge   string `dynamodbav:"charge" json:"charge"`
}

// The order, the stock, the cart and the customer are in tables of their own. All of it happens, or nothing does.
func ExampleUpdate() { //nolint:testableexamples // it needs tables
	_ = buy // goes to idempotent.Wrap
}

func buy(ctx context.Context, p Purchase) (Purchase, error) {
	return dynamo.Commit(ctx, p,
		dynamo.Put("orders", p, dynamo.IfAbsent("order_id")),
		dynamo.Update("stock", map[string]any{"sku": p.SKU}, "SET available = available - :n",
			dynamo.If("available >= :n"), dynamo.Values(map[string]any{":n": p.Quantity})),
		dynamo.Delete("carts", map[string]any{"customer": p.Customer}),
		dynamo.Check("customers", map[string]any{"customer": p.Customer},
			dynamo.If("#s = :active"),
			dynamo.Names(map[string]string{"#s": "status"}), // a reserved word of DynamoDB
			dynamo.Values(map[string]any{":active": "active"})))
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

// The charge is an effect outside of DynamoDB, so it is a step. The row and the answer have its result.
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
