package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// Claim is one PutItem, which replaces the whole item; parts of a large result precede it. A
// refusal brings the held record with it, else a GetItem reads it.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html.
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (held store.Record, claimed bool, err error) {
	const op = "claim"
	if err := s.ready(op); err != nil {
		return store.Record{}, false, err
	}
	steps, stepParts, err := s.placeSteps(ctx, op, store.Record{}, r)
	if err != nil {
		return store.Record{}, false, err
	}
	c, err := s.place(ctx, op, r, partsOutlive)
	if err != nil {
		return store.Record{}, false, err
	}
	it := s.attr.encode(&r, c)
	s.attr.encodeSteps(it, r, steps)
	e := newExpression()
	e.claimable(s.attr, now)
	in := &dynamodb.PutItemInput{
		TableName:                           aws.String(s.table),
		Item:                                it,
		ConditionExpression:                 aws.String(e.condition),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	var a attempts
	err = afterParts(ctx, stepParts || r.Result != nil && c.parts != "", func(ctx context.Context) error {
		_, err := s.client.PutItem(ctx, in, a.observe, readQuickly)
		held, claimed, err = s.written(ctx, op, r.Key, &a, err)
		return err
	})
	return held, claimed, err
}
