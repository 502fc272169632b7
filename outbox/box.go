package outbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/internal/relay"
)

// The attributes of a message in the table that are named outside of [stored].
const (
	attributeID        = "id"
	attributeOwner     = "owner"
	attributeCreatedAt = "created_at"
	// The key of the index is there while the message is pending.
	attributeShard      = "outbox_shard"
	attributeDue        = "outbox_due"
	attributeExpiration = "expiration"
	// The tokens of the last write of a relay, and of the last redrive.
	attributeLastWrite = "last_write"
	attributeRedrive   = "redrive"
)

const givenUpShard = "given-up"

// stored is a message in the table. Instants are milliseconds since 1970.
type stored struct {
	ID         string            `dynamodbav:"id"`
	Topic      string            `dynamodbav:"topic"`
	Body       string            `dynamodbav:"body"`
	Attributes map[string]string `dynamodbav:"attributes,omitempty"`
	Group      string            `dynamodbav:"group,omitempty"`
	Tenant     string            `dynamodbav:"tenant,omitempty"`
	Trace      string            `dynamodbav:"trace,omitempty"`
	Owner      string            `dynamodbav:"owner"`
	CreatedAt  int64             `dynamodbav:"created_at"`
	Due        int64             `dynamodbav:"outbox_due"`
	Shard      string            `dynamodbav:"outbox_shard"`
	// Tries is there from the first failure on, or since a drain has taken the message.
	Tries     int    `dynamodbav:"tries,omitempty"`
	GivenUpAt int64  `dynamodbav:"given_up_at,omitempty"`
	Failure   string `dynamodbav:"last_error,omitempty"`
}

func (s stored) message() Message {
	return Message{
		ID: s.ID, Topic: s.Topic, Body: json.RawMessage(s.Body), Attributes: s.Attributes, Group: s.Group,
		Tenant: s.Tenant, Trace: s.Trace,
		CreatedAt: time.UnixMilli(s.CreatedAt).UTC(), Tries: s.Tries,
	}
}

type box struct {
	client    Client
	table     string
	retention time.Duration
}

type (
	attributes = map[string]types.AttributeValue
	entry      = relay.Entry[stored]
)

const (
	refNow     = ":now"
	refOne     = ":one"
	refGivenUp = ":givenUp"
)

// pendingOfOwner looks at the owner, because a later commit may have put the same id.
func pendingOfOwner() string { return "#owner = :owner AND attribute_exists(outbox_due)" }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func (b *box) Get(ctx context.Context, id string) (entry, bool, error) {
	out, err := b.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(b.table), Key: attributes{attributeID: text(id)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return entry{}, false, fmt.Errorf("outbox: read a message: %w", err)
	}
	e, pending := pendingOf(out.Item)
	return e, pending, nil
}

func (b *box) Done(ctx context.Context, e entry, now time.Time) error {
	_, _, err := b.update(ctx, e, attributeLastWrite, pendingOfOwner(),
		"SET done_at = :now, expiration = :expiration REMOVE outbox_due, outbox_shard, tries, given_up_at, last_error",
		attributes{refNow: number(now.UnixMilli()), ":expiration": number(now.Add(b.retention).Unix() + 1)})
	return err
}

func (b *box) Failed(ctx context.Context, e entry, due time.Time) (tries int, pending bool, err error) {
	changed, pending, err := b.update(ctx, e, attributeLastWrite, pendingOfOwner(),
		"SET outbox_due = :due ADD tries :one", attributes{":due": number(due.UnixMilli()), refOne: number(1)})
	if !pending {
		return e.Tries, false, err
	}
	var now stored
	if err := attributevalue.UnmarshalMap(changed, &now); err != nil {
		return 0, true, fmt.Errorf("outbox: count the tries of a message: %w", err)
	}
	return now.Tries, true, nil
}

func (b *box) Take(ctx context.Context, e entry, due time.Time) (bool, error) {
	_, taken, err := b.update(ctx, e, attributeLastWrite,
		"#owner = :owner AND outbox_due = :seen AND outbox_shard <> :givenUp", "SET outbox_due = :due ADD tries :one",
		attributes{
			":due": number(due.UnixMilli()), refOne: number(1), ":seen": number(e.Due.UnixMilli()),
			refGivenUp: text(givenUpShard),
		})
	return taken, err
}

func (b *box) GiveUp(ctx context.Context, e entry, failure error, now time.Time) (bool, error) {
	condition, values := pendingOfOwner(),
		attributes{refGivenUp: text(givenUpShard), refNow: number(now.UnixMilli()), refOne: number(1)}
	if e.Tries > 0 {
		condition += " AND tries >= :tries" // it was not redriven since
		values[":tries"] = number(int64(e.Tries))
	}
	change := "SET outbox_shard = :givenUp, given_up_at = :now, tries = if_not_exists(tries, :one)"
	if permanent, is := errors.AsType[*relay.PermanentError](failure); is {
		failure = permanent.Err
	}
	if kind := errortype.Of(failure); kind != "" {
		change += ", last_error = :failure"
		values[":failure"] = text(kind)
	}
	_, givenUp, err := b.update(ctx, e, attributeLastWrite, condition, change, values)
	return givenUp, err
}

// update changes a message on a condition, and returns the attributes that were changed.
//
// A client repeats a write whose answer was lost. The message keeps a token of the write as the
// mark, so that the copy changes nothing, and what refuses it tells that the write has landed.
func (b *box) update(ctx context.Context, e entry, mark, condition, change string,
	values attributes,
) (attributes, bool, error) {
	token := text(rand.Text())
	values[":owner"], values[":write"] = text(e.Owner), token
	condition += " AND " + mark + " <> :write"
	change = strings.Replace(change, "SET ", "SET "+mark+" = :write, ", 1)
	out, err := b.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(b.table), Key: attributes{attributeID: text(e.ID)},
		UpdateExpression: aws.String(change), ConditionExpression: aws.String(condition),
		ExpressionAttributeNames: map[string]string{"#owner": attributeOwner}, ExpressionAttributeValues: values,
		ReturnValues:                        types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refusal, refused := errors.AsType[*types.ConditionalCheckFailedException](err); refused {
		landed := reflect.DeepEqual(refusal.Item[mark], token)
		return refusal.Item, landed, nil
	}
	if err != nil {
		does := map[string]string{attributeLastWrite: "write to", attributeRedrive: "redrive"}[mark]
		return nil, false, fmt.Errorf("outbox: %s a message: %w", does, err)
	}
	return out.Attributes, true, nil
}

func (b *box) List(ctx context.Context, shard int) iter.Seq2[entry, error] {
	return b.entries(ctx, strconv.Itoa(shard), new(int))
}

const pageSize = 500

// entries yields what a shard of the index has. What is no message there is only counted.
func (b *box) entries(ctx context.Context, shard string, foreign *int) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		pages := dynamodb.NewQueryPaginator(b.client, &dynamodb.QueryInput{
			TableName: aws.String(b.table), IndexName: aws.String(Index), Limit: aws.Int32(pageSize),
			KeyConditionExpression:    aws.String("outbox_shard = :shard"),
			ExpressionAttributeValues: attributes{":shard": text(shard)},
		})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				yield(entry{}, fmt.Errorf("outbox: read the index %s: %w", Index, err))
				return
			}
			for _, it := range out.Items {
				var m stored
				if attributevalue.UnmarshalMap(it, &m) != nil {
					*foreign++
					continue
				}
				if !yield(entryOf(m), nil) {
					return
				}
			}
		}
	}
}

// pendingOf reads an item. False says that it is no message, or none that is pending.
func pendingOf(it attributes) (entry, bool) {
	var s stored
	err := attributevalue.UnmarshalMap(it, &s)
	return entryOf(s), err == nil && s.Owner != "" && s.Topic != "" && s.Due != 0
}

func entryOf(s stored) entry {
	return entry{
		ID: s.ID, Owner: s.Owner, Due: time.UnixMilli(s.Due), Tries: s.Tries,
		GivenUp: s.Shard == givenUpShard, Message: s,
	}
}
