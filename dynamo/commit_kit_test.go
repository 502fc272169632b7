package dynamo_test

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
)

// terms are what a write of the SDK is given: its conditions, which must all hold, and what its
// expressions refer to.
type terms struct {
	when    []string
	names   map[string]string
	values  map[string]any
	showOld bool
}

func (x terms) condition() *string {
	if len(x.when) == 0 {
		return nil
	}
	return aws.String(strings.Join(x.when, " AND "))
}

func (x terms) returns() types.ReturnValuesOnConditionCheckFailure {
	if x.showOld {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return ""
}

func (x terms) items() item {
	if len(x.values) == 0 {
		return nil
	}
	return marshalled(x.values)
}

// marshalled returns the attributes of a key or of values.
func marshalled(v any) item {
	if it, is := v.(item); is {
		return it
	}
	it, err := attributevalue.MarshalMap(v)
	if err != nil {
		panic(err)
	}
	return it
}

func sdkUpdate(table string, key any, update string, x terms) dynamo.Item {
	return dynamo.Item{TransactWriteItem: types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(table), Key: marshalled(key), UpdateExpression: aws.String(update),
		ConditionExpression:      x.condition(),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.items(),
		ReturnValuesOnConditionCheckFailure: x.returns(),
	}}}
}

func sdkDelete(table string, key any, x terms) dynamo.Item {
	return dynamo.Item{TransactWriteItem: types.TransactWriteItem{Delete: &types.Delete{
		TableName: aws.String(table), Key: marshalled(key), ConditionExpression: x.condition(),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.items(),
		ReturnValuesOnConditionCheckFailure: x.returns(),
	}}}
}

func sdkCheck(table string, key any, x terms) dynamo.Item {
	return dynamo.Item{TransactWriteItem: types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: aws.String(table), Key: marshalled(key), ConditionExpression: x.condition(),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.items(),
		ReturnValuesOnConditionCheckFailure: x.returns(),
	}}}
}
