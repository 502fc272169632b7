package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
)

// Claim is one PutItem, which replaces the whole item; parts of a large result precede it. A refusal brings the held record
// with it, else a GetItem reads it.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html.
func (s *Store) Claim(ctx context.Context, r idempotent.Record, now time.Time) (held idempotent.Record, claimed bool, err error) {
	const op = "claim"
	c, err := s.place(ctx, op, r)
	if err != nil {
		return idempotent.Record{}, false, err
	}
	e := newExpression()
	e.claimable(s.attr, now)
	var a attempts
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           aws.String(s.table),
		Item:                                s.attr.encode(r, c),
		ConditionExpression:                 aws.String(e.condition),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, a.observe, readQuickly)
	return s.written(ctx, op, r.Key, &a, err)
}
