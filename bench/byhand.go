package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	retention = 24 * time.Hour
	keyHeader = "idempotency-key"

	attributeStatus     = "status"
	attributeOwner      = "owner"
	attributeExpiration = "expiration"
	attributeData       = "data"

	inProgress = "INPROGRESS"
	completed  = "COMPLETED"
)

type item = map[string]types.AttributeValue

// manual makes a handler idempotent by hand, as somebody would who knows DynamoDB and writes it for
// one function: the same calls as the library makes, the result in the record, and no more. There
// is no fingerprint, no scope, no repeated claim after a lost reply, no verdict on a record that
// somebody else has written, and no result of more than 400 KB.
type manual struct {
	client *dynamodb.Client
	table  string
	charge func(context.Context, request) (response, error)
}

func byHand(s *shop, f *fake) lambda.Handler {
	return lambda.NewHandler((&manual{client: f.client, table: records, charge: s.charge}).handle)
}

func (m *manual) handle(ctx context.Context, in request) (response, error) {
	key := in.Headers[keyHeader]
	if key == "" {
		return response{StatusCode: 400}, nil
	}
	id, owner := "charge#"+key, rand.Text()
	_, err := m.client.PutItem(ctx, m.claim(ctx, id, owner))
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return replay(refused.Item)
	}
	if err != nil {
		return response{StatusCode: 503}, fmt.Errorf("claim: %w", err)
	}
	out, err := m.charge(ctx, in)
	if err != nil {
		return out, errors.Join(err, m.release(ctx, id, owner))
	}
	return out, m.complete(ctx, id, owner, out)
}

func (m *manual) claim(ctx context.Context, id, owner string) *dynamodb.PutItemInput {
	now := time.Now()
	lease, ok := ctx.Deadline()
	if !ok {
		lease = now.Add(timeout)
	}
	return &dynamodb.PutItemInput{
		TableName: aws.String(m.table),
		Item: item{
			"id":                     text(id),
			attributeStatus:          text(inProgress),
			attributeOwner:           text(owner),
			"in_progress_expiration": number(lease.UnixMilli()),
			attributeExpiration:      number(now.Add(retention).Unix()),
		},
		ConditionExpression: aws.String(
			"attribute_not_exists(#id) OR (#status = :completed AND #expiration <= :now) OR " +
				"(#status = :in_progress AND #lease <= :now_millis)"),
		ExpressionAttributeNames: map[string]string{
			"#id": "id", "#status": attributeStatus, "#expiration": attributeExpiration,
			"#lease": "in_progress_expiration",
		},
		ExpressionAttributeValues: item{
			":completed": text(completed), ":in_progress": text(inProgress),
			":now": number(now.Unix()), ":now_millis": number(now.UnixMilli()),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func replay(held item) (out response, err error) {
	status, ok := held[attributeStatus].(*types.AttributeValueMemberS)
	if !ok || status.Value != completed {
		return response{StatusCode: 409}, nil
	}
	data, ok := held[attributeData].(*types.AttributeValueMemberS)
	if !ok {
		return response{StatusCode: 500}, errors.New("the record has no result")
	}
	err = json.Unmarshal([]byte(data.Value), &out)
	return out, err
}

func (m *manual) complete(ctx context.Context, id, owner string, out response) error {
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	_, err = m.client.UpdateItem(ctx, m.completion(id, owner, string(data)))
	if err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return nil
}

func (m *manual) completion(id, owner, data string) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:           aws.String(m.table),
		Key:                 item{"id": text(id)},
		ConditionExpression: aws.String("#owner = :owner AND #status = :in_progress"),
		UpdateExpression:    aws.String("SET #status = :completed, #data = :data, #expiration = :expiration"),
		ExpressionAttributeNames: map[string]string{
			"#owner": attributeOwner, "#status": attributeStatus, "#data": attributeData,
			"#expiration": attributeExpiration,
		},
		ExpressionAttributeValues: item{
			":owner": text(owner), ":in_progress": text(inProgress), ":completed": text(completed),
			":data": text(data), ":expiration": number(time.Now().Add(retention).Unix()),
		},
	}
}

func (m *manual) release(ctx context.Context, id, owner string) error {
	_, err := m.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 aws.String(m.table),
		Key:                       item{"id": text(id)},
		ConditionExpression:       aws.String("#owner = :owner"),
		ExpressionAttributeNames:  map[string]string{"#owner": attributeOwner},
		ExpressionAttributeValues: item{":owner": text(owner)},
	})
	return err
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
