package outbox

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/clean"
	"github.com/go-idempotent/idempotent/store"
)

// CleanerClient is what a [Cleaner] needs of a DynamoDB client. [*dynamodb.Client] implements it. It has to be safe for concurrent use.
type CleanerClient interface {
	Scan(ctx context.Context, in *dynamodb.ScanInput, optFns ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Cleaner deletes messages that are done, from the end of their retention on, for a table that has no time to live. A message that is pending or
// parked has no expiration, and stays. Make one with [NewCleaner]. It is safe for concurrent use.
type Cleaner struct {
	client CleanerClient
	table  string
}

var _ store.Cleaner = (*Cleaner)(nil)

// NewCleaner returns a cleaner of the table, given by its name or ARN. It panics with a [*store.ConfigError] if the client is nil or the name
// is empty.
func NewCleaner(client CleanerClient, table string) *Cleaner {
	var problems []string
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		problems = append(problems, "outbox.NewCleaner: the client is nil")
	}
	if table == "" {
		problems = append(problems, "outbox.NewCleaner: the name of the table is empty")
	}
	if len(problems) > 0 {
		panic(configError(problems))
	}
	return &Cleaner{client: client, table: table}
}

// Table implements [store.Cleaner].
func (c *Cleaner) Table() string { return c.table }

// DeleteExpired implements [store.Cleaner] with a Scan, eventually consistent, which takes half a read unit for every 4 KB of all that is in the
// table, and a conditional DeleteItem for each message, a write unit for every KB of it.
// It needs the IAM actions dynamodb:Scan and dynamodb:DeleteItem on the table. What fails is repeated by the client alone.
func (c *Cleaner) DeleteExpired(ctx context.Context, how store.Cleaning) iter.Seq2[store.Cleaned, error] {
	return clean.Expired(ctx, &done{Cleaner: c, before: how.Before}, how)
}

// done is what a table has of messages that are done, and that expired at before or earlier.
type done struct {
	*Cleaner

	before time.Time
}

var _ clean.Table[doneMessage] = (*done)(nil)

// doneMessage is a message as it was read.
type doneMessage struct {
	id         string
	expiration types.AttributeValue
}

// notPending is the condition that a message was delivered: until then it is due, also while it is parked.
func notPending() string { return "attribute_exists(done_at) AND attribute_not_exists(outbox_due)" }

// Page implements [clean.Table]. A cursor is an id.
func (d *done) Page(ctx context.Context, after string, limit int) (p clean.Page[doneMessage], err error) {
	in := &dynamodb.ScanInput{
		TableName: aws.String(d.table), Limit: aws.Int32(int32(min(limit, 1<<20))), //nolint:gosec // within its range
		FilterExpression:          aws.String("expiration <= :before AND " + notPending()),
		ProjectionExpression:      aws.String("id, expiration"),
		ExpressionAttributeValues: attributes{":before": number(d.before.Unix())},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if after != "" {
		in.ExclusiveStartKey = keyOf(after)
	}
	out, err := d.client.Scan(ctx, in)
	if err != nil {
		return p, fmt.Errorf("outbox: read the table for what has expired: %w", err)
	}
	p.Read, p.Units = int(out.ScannedCount), unitsOf(out.ConsumedCapacity, float64(out.ScannedCount)/2)
	for _, it := range out.Items {
		if id, is := it[attributeID].(*types.AttributeValueMemberS); is {
			p.Expired = append(p.Expired, doneMessage{id: id.Value, expiration: it[attributeExpiration]})
		}
	}
	if last, is := out.LastEvaluatedKey[attributeID].(*types.AttributeValueMemberS); is {
		p.Next = last.Value
	}
	return p, nil
}

// Delete implements [clean.Table].
func (d *done) Delete(ctx context.Context, m doneMessage, dryRun bool) (clean.Deletion, error) {
	if dryRun {
		return clean.Deletion{Deleted: true}, nil
	}
	out, err := d.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(d.table), Key: keyOf(m.id),
		ConditionExpression:                 aws.String("expiration = :seen AND " + notPending()), // a later commit may have put a message with this id
		ExpressionAttributeValues:           attributes{":seen": m.expiration},
		ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return clean.Deletion{Kept: len(refused.Item) > 0, WriteUnits: 1}, nil
	}
	if err != nil {
		return clean.Deletion{}, fmt.Errorf("outbox: delete a message that is done: %w", err)
	}
	return clean.Deletion{Deleted: true, WriteUnits: unitsOf(out.ConsumedCapacity, 1)}, nil
}

// unitsOf is what a call consumed, or a guess where the server does not say.
func unitsOf(c *types.ConsumedCapacity, guess float64) float64 {
	if c == nil || c.CapacityUnits == nil {
		return guess
	}
	return *c.CapacityUnits
}
