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

	example "github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

// message is a message in the table, read past the library.
type message struct {
	ID       string `dynamodbav:"id"`
	Topic    string `dynamodbav:"topic"`
	Body     string `dynamodbav:"body"`
	Owner    string `dynamodbav:"owner"`
	Due      int64  `dynamodbav:"outbox_due"`
	Shard    string `dynamodbav:"outbox_shard"`
	Tries    int    `dynamodbav:"tries"`
	ParkedAt int64  `dynamodbav:"parked_at"`
	DoneAt   int64  `dynamodbav:"done_at"`
	Expires  int64  `dynamodbav:"expiration"`
}

// pending: it waits for its delivery, and nothing will delete it.
func (m message) pending() bool {
	return m.Due > 0 && m.Shard != "" && m.Shard != "parked" && m.DoneAt == 0 && m.Expires == 0
}

// done: it was delivered, nobody looks for it any more, and it will be deleted.
func (m message) done() bool {
	return m.Due == 0 && m.Shard == "" && m.Tries == 0 && m.ParkedAt == 0 && m.DoneAt > 0 && m.Expires > m.DoneAt/1000
}

// parked: nobody delivers it, and nothing will delete it.
func (m message) parked() bool {
	return m.Due > 0 && m.Shard == "parked" && m.ParkedAt > 0 && m.DoneAt == 0 && m.Expires == 0
}

// order is the id of the order that it tells of.
func (m message) order(t *testing.T) string {
	t.Helper()
	var body example.Placed
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

// messagesIn are all messages of a table.
func messagesIn(t *testing.T, client *dynamodb.Client, table string) (all []message) {
	t.Helper()
	for pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
	}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		require.NoError(t, err)
		var messages []message
		require.NoError(t, attributevalue.UnmarshalListOfMaps(page.Items, &messages))
		all = append(all, messages...)
	}
	return all
}

// age makes all messages of a table due that are pending, instead of waiting until they are. It returns how many there are.
func age(t *testing.T, client *dynamodb.Client, table string) (count int) {
	t.Helper()
	for _, m := range messagesIn(t, client, table) {
		if !m.pending() {
			continue
		}
		count++
		_, err := client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: m.ID}},
			ConditionExpression: aws.String("outbox_due = :due"), // it may be done by now, or taken
			UpdateExpression:    aws.String("SET outbox_due = :past"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":due": &types.AttributeValueMemberN{Value: strconv.FormatInt(m.Due, 10)}, ":past": &types.AttributeValueMemberN{Value: "1"},
			},
		})
		if refused(err) {
			continue
		}
		require.NoError(t, err)
	}
	return count
}

// messages are those of the warehouse.
func (w *warehouse) messages() []message {
	w.t.Helper()
	return messagesIn(w.t, w.dynamo, w.outbox)
}

// placed are the ids of the orders that messages tell of, in order.
func (w *warehouse) placed() (all []string) {
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
