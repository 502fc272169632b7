package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

// message is a message in the table, read past the library.
type message struct {
	ID        string `dynamodbav:"id"`
	Topic     string `dynamodbav:"topic"`
	Body      string `dynamodbav:"body"`
	Owner     string `dynamodbav:"owner"`
	Due       int64  `dynamodbav:"outbox_due"`
	Shard     string `dynamodbav:"outbox_shard"`
	Tries     int    `dynamodbav:"tries"`
	GivenUpAt int64  `dynamodbav:"given_up_at"`
	DoneAt    int64  `dynamodbav:"done_at"`
	Expires   int64  `dynamodbav:"expiration"`
}

// pending: it waits for its delivery, and nothing will delete it.
func (m message) pending() bool {
	return m.Due > 0 && m.Shard != "" && m.Shard != "given-up" && m.DoneAt == 0 && m.Expires == 0
}

// done: it was delivered, nobody looks for it any more, and it will be deleted.
func (m message) done() bool {
	return m.Due == 0 && m.Shard == "" && m.Tries == 0 && m.GivenUpAt == 0 && m.DoneAt > 0 && m.Expires > m.DoneAt/1000
}

// given up: nobody delivers it, and nothing will delete it.
func (m message) givenUp() bool {
	return m.Due > 0 && m.Shard == "given-up" && m.GivenUpAt > 0 && m.DoneAt == 0 && m.Expires == 0
}

// order is the id of the order that it tells of.
func (m message) order(t *testing.T) string {
	t.Helper()
	var body placed
	require.NoError(t, json.Unmarshal([]byte(m.Body), &body))
	return body.OrderID
}

// newOutbox makes a table of messages.
func newOutbox(t *testing.T) string {
	t.Helper()
	name := "e2e-outbox-" + rand.Text()
	require.NoError(t, outbox.CreateTable(t.Context(), dynamolocal.Client(platform.endpoint(t), closeIdle(t)), name))
	return name
}

// messages are those of the warehouse.
func (w *warehouse) messages() (all []message) {
	w.t.Helper()
	require.NoError(w.t, attributevalue.UnmarshalListOfMaps(w.scan(w.outbox), &all))
	return all
}

// age makes all messages due that are pending, instead of waiting until they are. It returns how
// many there are.
func (w *warehouse) age() (count int) {
	w.t.Helper()
	for _, m := range w.messages() {
		if !m.pending() {
			continue
		}
		count++
		_, err := w.dynamo.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName:           aws.String(w.outbox),
			Key:                 map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: m.ID}},
			ConditionExpression: aws.String("outbox_due = :due"), // it may be done by now, or taken
			UpdateExpression:    aws.String("SET outbox_due = :past"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":due":  &types.AttributeValueMemberN{Value: strconv.FormatInt(m.Due, 10)},
				":past": &types.AttributeValueMemberN{Value: "1"},
			},
		})
		if refused(err) {
			continue
		}
		require.NoError(w.t, err)
	}
	return count
}

// announced are the ids of the orders that messages tell of, in order.
func (w *warehouse) announced() (all []string) {
	w.t.Helper()
	for _, m := range w.messages() {
		all = append(all, m.order(w.t))
	}
	slices.Sort(all)
	return all
}

func refused(err error) bool {
	_, is := errors.AsType[*types.ConditionalCheckFailedException](err)
	return is
}
