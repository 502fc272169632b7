package dynamo

import (
	"bytes"
	"context"
	"errors"
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
	in := &dynamodb.PutItemInput{
		TableName:                           aws.String(s.table),
		Item:                                it,
		ConditionExpression:                 aws.String(e.claimable(s.attr, now)),
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

// Swap is one UpdateItem, which writes the fields in which next differs from seen, and the steps
// that next changes, and leaves everything else alone. Parts of a large result precede it: the
// update is the point at which a completion or a step becomes visible. An update that gives the
// record another owner brings it with it. So does a refusal; else a GetItem reads it.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html.
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (held store.Record, swapped bool, err error) {
	const op = "swap"
	if err := s.ready(op); err != nil {
		return store.Record{}, false, err
	}
	u, inParts, err := s.update(ctx, op, seen, next)
	if err != nil {
		return store.Record{}, false, err
	}
	in := &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key, ConditionExpression: u.ConditionExpression,
		UpdateExpression:         u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
	}
	if seen.HandsOver(next) {
		in.ReturnValues = types.ReturnValueAllNew
	}
	var a attempts
	err = afterParts(ctx, inParts, func(ctx context.Context) error {
		out, err := s.client.UpdateItem(ctx, in, a.observe, readQuickly)
		held, swapped, err = s.written(ctx, op, seen.Key, &a, err)
		if swapped && seen.HandsOver(next) {
			held, err = s.decode(next.Key, out.Attributes)
			swapped = err == nil
		}
		return err
	})
	return held, swapped, err
}

// update is the write that replaces seen by next, alone or in a transaction. It writes the parts
// that next needs, and reports whether there are any.
func (s *Store) update(ctx context.Context, op string, seen, next store.Record) (types.Update, bool, error) {
	e := newExpression()
	e.sameAs(s.attr, seen)
	e.neverShorter(s.attr, seen, next)
	e.setFields(s.attr, &seen, &next)
	steps, parts, err := s.placeSteps(ctx, op, seen, next)
	if err != nil {
		return types.Update{}, false, err
	}
	e.setSteps(s.attr, seen, next, steps)
	if !sameContent(seen, next) {
		c, err := s.place(ctx, op, next, outlive(seen, next))
		if err != nil {
			return types.Update{}, false, err
		}
		e.setContent(s.attr, c, seen, next)
		parts = parts || next.Result != nil && c.parts != ""
	}
	return types.Update{
		TableName:                           aws.String(s.table),
		Key:                                 s.attr.key(seen.Key),
		ConditionExpression:                 aws.String(string(e.condition)),
		UpdateExpression:                    e.update(),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, parts, nil
}

// outlive is how long the parts of the result of next stay after its expiry: longer if a step has
// the same parts, which count until the completion has landed.
func outlive(seen, next store.Record) time.Duration {
	for _, step := range seen.Steps {
		if step.Seal == next.Seal {
			return stepPartsOutlive
		}
	}
	return partsOutlive
}

func sameContent(seen, next store.Record) bool {
	return seen.Parts == next.Parts && seen.Seal == next.Seal &&
		(seen.Result == nil) == (next.Result == nil) && bytes.Equal(seen.Result, next.Result)
}

var errEarlierAttempt = errors.New(
	"the record is gone or another one, but an attempt that was not answered may have deleted it")

// Delete is one DeleteItem. Parts that the record names stay until their time to live.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html.
func (s *Store) Delete(ctx context.Context, seen store.Record) (deleted bool, err error) {
	const op = "delete"
	if err := s.ready(op); err != nil {
		return false, err
	}
	e := newExpression()
	e.sameAs(s.attr, seen)
	var a attempts
	_, err = s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 aws.String(s.table),
		Key:                       s.attr.key(seen.Key),
		ConditionExpression:       aws.String(string(e.condition)),
		ExpressionAttributeNames:  e.names,
		ExpressionAttributeValues: e.values,
	}, a.observe, readQuickly)
	if err == nil {
		return true, nil
	}
	if _, refused := refusal(err); refused && a.open.Load() > 0 {
		// An earlier attempt of this call may have deleted the record that was seen.
		return false, s.storeError(op, errEarlierAttempt, false)
	} else if refused {
		return false, nil
	}
	return false, s.storeError(op, a.explained(err), a.notApplied())
}
