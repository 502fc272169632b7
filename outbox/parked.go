package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ParkedMessage is a message that nobody delivers any more, because it failed too often or can never be delivered.
type ParkedMessage struct {
	Message

	// ParkedAt is when it was parked.
	ParkedAt time.Time
	// Failure is the type of the error of its last delivery, empty if that ended without one.
	Failure string

	owner string
}

// Parked yields the messages of a table that are parked, about in the order in which they were. It reads the [Index], which may be late by a
// moment, and then each message. An error ends it.
func Parked(ctx context.Context, client Client, table string) iter.Seq2[ParkedMessage, error] {
	b := &box{client: client, table: table}
	return func(yield func(ParkedMessage, error) bool) {
		for cursor := ""; ; {
			page, _, next, err := b.query(ctx, parkedShard, cursor)
			if err != nil {
				yield(ParkedMessage{}, err)
				return
			}
			for _, listed := range page {
				p, parked, err := b.parked(ctx, listed.ID)
				if (parked || err != nil) && !yield(p, err) || err != nil {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

// parked reads a message. False says that it is not parked.
func (b *box) parked(ctx context.Context, id string) (ParkedMessage, bool, error) {
	it, err := b.read(ctx, id)
	if err != nil {
		return ParkedMessage{}, false, err
	}
	e, pending := entryOf(it)
	if !pending || !e.Parked {
		return ParkedMessage{}, false, nil
	}
	at, err := integer(it[attributeParkedAt])
	m := ParkedMessage{Message: e.Message, ParkedAt: time.UnixMilli(at).UTC(), owner: e.Owner}
	if failure, is := it[attributeFailure].(*types.AttributeValueMemberS); is {
		m.Failure = failure.Value
	}
	return m, true, err
}

// FindParked returns the parked message with an id. It returns [ErrNotParked] if there is none.
func FindParked(ctx context.Context, client Client, table, id string) (ParkedMessage, error) {
	p, parked, err := (&box{client: client, table: table}).parked(ctx, id)
	if err == nil && !parked {
		err = ErrNotParked
	}
	return p, err
}

// ErrNotParked is the error of [Redrive] and [FindParked] if the message is not parked any more: it was redriven or delivered, or a later commit
// has replaced it.
var ErrNotParked = errors.New("outbox: there is no such message that is parked")

// The bounds of who redrives a message and why, in bytes: those of package operate.
const (
	maxBy  = 256
	maxWhy = 512
)

// Redrive lets a parked message be delivered again, with its tries counted anew: at once where there is a relay on the stream, else by the
// next drain. It does so only if the message is still parked as it was shown; if not, the error is [ErrNotParked]. The message keeps who did
// it, when, and why; both texts are required, and have at most 256 and 512 bytes.
func Redrive(ctx context.Context, client Client, table string, m ParkedMessage, by, why string) error {
	switch {
	case m.ID == "" || m.owner == "":
		return errors.New("outbox.Redrive: the message is not one of Parked or FindParked")
	case strings.TrimSpace(by) == "" || strings.TrimSpace(why) == "":
		return fmt.Errorf("outbox.Redrive: by is %q and why is %q: say who does it, and why", by, why)
	case len(by) > maxBy || len(why) > maxWhy:
		return fmt.Errorf("outbox.Redrive: by has %d bytes and why has %d, more than %d and %d", len(by), len(why), maxBy, maxWhy)
	}
	now, token := number(time.Now().UnixMilli()), text(rand.Text())
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: keyOf(m.ID),
		ConditionExpression: aws.String("#owner = :owner AND outbox_shard = :parked AND parked_at = :at"),
		UpdateExpression: aws.String("SET outbox_shard = :shard, outbox_due = :now, redriven_at = :now, redriven_by = :by, " +
			"redriven_reason = :why, redrive = :write REMOVE tries, parked_at, last_error"),
		ExpressionAttributeNames: map[string]string{"#owner": attributeOwner},
		ExpressionAttributeValues: attributes{
			":owner": text(m.owner), refParked: text(parkedShard), ":at": number(m.ParkedAt.UnixMilli()),
			":shard": text(shardOf(m.ID)), refNow: now, ":by": text(by), ":why": text(why), ":write": token,
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refusal, refused := errors.AsType[*types.ConditionalCheckFailedException](err); refused {
		if reflect.DeepEqual(refusal.Item["redrive"], token) {
			return nil // the client has repeated it, because its answer was lost
		}
		return ErrNotParked
	}
	if err != nil {
		return fmt.Errorf("outbox: redrive a message: %w", err)
	}
	return nil
}
