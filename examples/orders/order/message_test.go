package order_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/orders/order"
)

// letter is what is to reach the mail of a message, with its id left out: it is one of [office.ids].
type letter struct {
	Topic string `dynamodbav:"topic"`
	Body  string `dynamodbav:"body"`
}

// letters are the messages in the outbox.
func (o *office) letters() (letters []letter) {
	o.t.Helper()
	require.NoError(o.t, attributevalue.UnmarshalListOfMaps(o.items(o.Outbox), &letters))
	return letters
}

// ids are those of the messages in the outbox.
func (o *office) ids() (ids []string) {
	o.t.Helper()
	for _, item := range o.items(o.Outbox) {
		id, is := item["id"].(*types.AttributeValueMemberS)
		require.True(o.t, is)
		ids = append(ids, id.Value)
	}
	return ids
}

// letterOf is what the mail has to get of the body and its answer.
func letterOf(t *testing.T, answer events.APIGatewayV2HTTPResponse) letter {
	t.Helper()
	var ids map[string]string
	require.NoError(t, json.Unmarshal([]byte(answer.Body), &ids))
	return letter{"order-placed", `{"order_id":"` + ids["order_id"] + `","email":"a@example.com"}`}
}

func TestAnOrderIsAMessageThatIsWrittenWithItsAnswer(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	first := f.answers(201, post("client-key", body))
	require.Equal(t, []letter{letterOf(t, first)}, o.letters())
	item := o.items(o.Outbox)[0]
	require.Contains(t, item, "outbox_due", "it is to be delivered")
	require.NotContains(t, item, "expiration", "until then it stays")
	id := o.ids()[0]
	require.Len(t, id, 36)
	require.NotEqual(t, rowOf(t, first).OrderID, id, "a key of its own")

	require.True(t, replayed(f.answers(201, post("client-key", body))))
	require.Equal(t, []map[string]types.AttributeValue{item}, o.items(o.Outbox), "a replay writes none")
	require.Empty(t, w.about("MAIL"), "the mail is for another function")
}

func TestWhatIsNoOrderHasNoMessage(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	f.answers(402, post("declined", declined))
	f.answers(400, post("invalid", "{}"))
	w.fail("POST /v1/charges", status(500, ""), false)
	f.answers(502, post("k", body))
	require.Empty(t, o.items(o.Outbox))

	w.heal()
	second := f.answers(201, post("k", body))
	require.Equal(t, []letter{letterOf(t, second)}, o.letters())
}

func TestEachRequestIsAMessage(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	letters := []letter{letterOf(t, f.answers(201, post("k", body))), letterOf(t, f.answers(201, post("other", body)))}
	require.ElementsMatch(t, letters, o.letters())
	ids := o.ids()
	require.NotEqual(t, ids[0], ids[1])
}

// The row says that the message has left, even if it was delivered and deleted long ago.
func TestTheSameOrderAfterItsRetentionHasNoSecondMessage(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w)
	f.answers(201, post("k", body))
	for _, id := range o.ids() {
		_, err := o.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(o.Outbox), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		})
		require.NoError(t, err)
	}
	o.forget()
	require.False(t, replayed(f.answers(201, post("k", body))))
	require.Empty(t, o.items(o.Outbox))
}

// A conflict is stored, and nothing leaves.
func TestAnotherOrderByTheSameIDHasNoMessage(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	first := o.newFunction(w).answers(201, post("k", body))
	before := o.items(o.Outbox)
	o.forget()
	o.newFunction(newTown(t)).answers(409, post("k", body)) // its services have forgotten
	require.Equal(t, before, o.items(o.Outbox))
	require.Equal(t, []letter{letterOf(t, first)}, o.letters())
}

// Without protection each request is an order, and a message.
func TestWithoutProtectionEachRequestIsAMessage(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	f := o.newFunction(w, idempotent.WithDisabled(true))
	first, second := f.answers(201, post("k", body)), f.answers(201, post("k", body))
	require.ElementsMatch(t, []letter{letterOf(t, first), letterOf(t, second)}, o.letters())
}

// Without any table nothing is written beside the answer, which is for the store in memory. Half of them is a mistake.
func TestOneTableWithoutTheOtherWritesNothing(t *testing.T) {
	t.Parallel()
	o, w := newOffice(t), newTown(t)
	for _, tables := range []order.Tables{{Orders: o.Orders}, {Outbox: o.Outbox}} {
		w.tables = tables
		f := newFunction(t, w, o.store)
		_, err := f.invoke(post("k"+tables.Orders, body))
		require.Error(t, err)
		require.Empty(t, o.rows())
		require.Empty(t, o.items(o.Outbox))
	}
}
