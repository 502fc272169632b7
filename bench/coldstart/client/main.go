// Command client is the function with a client of DynamoDB, made without the config module. For a
// POST, which it is not sent when it is measured, it makes the calls of a first execution by hand:
// a PutItem that claims the key and an UpdateItem that completes it.
package main

import (
	"context"
	"errors"
	"net/http"
	"os"

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
		key := map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: r.Headers["idempotency-key"]},
		}
		_, claimed := client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: table, Item: key, ConditionExpression: aws.String("attribute_not_exists(id)"),
		})
		if claimed != nil {
			return charge.Response{}, claimed
		}
		response, err := charge.Handle(ctx, r)
		_, completed := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: table, Key: key, UpdateExpression: aws.String("SET #data = :data"),
			ExpressionAttributeNames: map[string]string{"#data": "data"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":data": &types.AttributeValueMemberS{Value: response.Body},
			},
		})
		return response, errors.Join(err, completed)
	})
}
