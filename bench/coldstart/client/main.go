// Command client is the function with a client of DynamoDB, made without the config module. For a
// POST it makes the calls of a first execution by hand: a PutItem that claims the key and an
// UpdateItem that completes it.
package main

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/bench/coldstart/charge"
)

func main() {
	client, table := charge.Client(), aws.String(os.Getenv("IDEMPOTENCY_TABLE"))
	lambda.Start(func(ctx context.Context, r charge.Request) (charge.Response, error) {
		if r.RequestContext.HTTP.Method != http.MethodPost {
			return charge.Handle(ctx, r)
		}
		id := text(r.Headers["idempotency-key"])
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: table,
			Item: map[string]types.AttributeValue{
				"id": id, "status": text("INPROGRESS"), "expiration": number(time.Now().Add(24 * time.Hour).Unix()),
			},
			ConditionExpression:                 aws.String("attribute_not_exists(id)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err != nil {
			return charge.Response{}, err
		}
		response, err := charge.Handle(ctx, r)
		if err != nil {
			return charge.Response{}, err
		}
		_, err = client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                table,
			Key:                      map[string]types.AttributeValue{"id": id},
			UpdateExpression:         aws.String("SET #status = :completed, #data = :data"),
			ExpressionAttributeNames: map[string]string{"#status": "status", "#data": "data"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":completed": text("COMPLETED"), ":data": text(response.Body),
			},
		})
		return response, err
	})
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
