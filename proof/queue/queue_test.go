package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxsqs"
	"github.com/go-idempotent/idempotent/proof/moto"
	"github.com/go-idempotent/idempotent/report"
)

const traced = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

func messageOf(id string) outbox.Message {
	return outbox.Message{
		ID: id, Topic: "größe", Body: json.RawMessage(`{"text":"a \"quoted\" größe ` + "\uFFFF" + `"}`), Attributes: map[string]string{"Region": "eu"},
		Tenant: "acme", Trace: traced,
	}
}

func isPermanent(err error) bool {
	_, is := errors.AsType[*relay.PermanentError](err)
	return is
}

// receive takes what is in a queue, as often as it is there. What was received is deleted.
func receive(t *testing.T, client *sqs.Client, url string) (all []types.Message) {
	t.Helper()
	for {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(url), MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		require.NoError(t, err)
		if len(out.Messages) == 0 {
			return all
		}
		all = append(all, out.Messages...)
		for _, m := range out.Messages {
			_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String(url), ReceiptHandle: m.ReceiptHandle})
			require.NoError(t, err)
		}
	}
}

// eventOf is a message as Lambda hands it to a consumer.
func eventOf(m types.Message) events.SQSMessage {
	e := events.SQSMessage{
		MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Md5OfBody: *m.MD5OfBody, Attributes: m.Attributes,
		MessageAttributes: map[string]events.SQSMessageAttribute{}, EventSource: "aws:sqs",
	}
	for name, value := range m.MessageAttributes {
		e.MessageAttributes[name] = events.SQSMessageAttribute{DataType: *value.DataType, StringValue: value.StringValue}
	}
	return e
}

func keyOf(m events.SQSMessage) (string, error) {
	return aws.ToString(m.MessageAttributes["Idempotency-Key"].StringValue), nil
}

func TestAConsumerReceivesTheWholeMessage(t *testing.T) {
	t.Parallel()
	client := moto.SQS(t)
	url := moto.NewQueue(t, client, "whole", nil)
	require.NoError(t, outboxsqs.To(client, url)(t.Context(), messageOf("id-1")))
	all := receive(t, client, url)
	require.Len(t, all, 1)
	assert.JSONEq(t, string(messageOf("id-1").Body), *all[0].Body)
	assert.Equal(t, traced, all[0].Attributes["AWSTraceHeader"])
	assert.Equal(t, map[string]string{"Idempotency-Key": "id-1", "topic": "größe", "tenant": "acme", "Region": "eu"}, textsOf(all[0]))
}

func textsOf(m types.Message) map[string]string {
	texts := map[string]string{}
	for name, value := range m.MessageAttributes {
		texts[name] = aws.ToString(value.StringValue)
	}
	return texts
}

func TestAStandardQueueTakesAMessageTwiceAndItsConsumerActsOnce(t *testing.T) {
	t.Parallel()
	client := moto.SQS(t)
	url := moto.NewQueue(t, client, "standard", nil)
	deliver := outboxsqs.To(client, url)
	for range 2 {
		require.NoError(t, deliver(t.Context(), messageOf("id-1")))
	}
	all := receive(t, client, url)
	require.Len(t, all, 2)
	require.NotEqual(t, *all[0].MessageId, *all[1].MessageId)
	acted := 0
	consume := idempotent.Wrap(func(context.Context, events.SQSMessage) (struct{}, error) {
		acted++
		return struct{}{}, nil
	}, memory.New(), idempotent.WithOperation("mail"), idempotent.WithKey(keyOf))
	for _, m := range all {
		_, err := consume.Handle(t.Context(), eventOf(m))
		require.NoError(t, err)
	}
	assert.Equal(t, 1, acted)
}

func TestAFIFOQueueTakesAMessageOnce(t *testing.T) {
	t.Parallel()
	client := moto.SQS(t)
	url := moto.NewQueue(t, client, "once.fifo", map[string]string{"FifoQueue": "true"})
	deliver := outboxsqs.To(client, url)
	grouped := messageOf("id-2")
	grouped.Group = "customer-1"
	for range 2 {
		require.NoError(t, deliver(t.Context(), messageOf("id-1")))
		require.NoError(t, deliver(t.Context(), grouped))
	}
	groups := map[string]string{}
	all := receive(t, client, url)
	require.Len(t, all, 2, "the same id is the same message")
	for _, m := range all {
		groups[m.Attributes["MessageDeduplicationId"]] = m.Attributes["MessageGroupId"]
	}
	assert.Equal(t, map[string]string{"id-1": "id-1", "id-2": "customer-1"}, groups)
}

func TestAQueueTellsWhatItCanNeverTake(t *testing.T) {
	t.Parallel()
	client := moto.SQS(t)
	small := moto.NewQueue(t, client, "small", map[string]string{"MaximumMessageSize": "1024"})
	large := messageOf("id-1")
	large.Body = json.RawMessage(`"` + strings.Repeat("x", 1024) + `"`)
	err := outboxsqs.To(client, small)(t.Context(), large)
	require.ErrorContains(t, err, "must be shorter than 1024 bytes")
	assert.True(t, isPermanent(err))
	require.NoError(t, outboxsqs.To(client, moto.NewQueue(t, client, "usual", nil))(t.Context(), large))

	err = outboxsqs.To(client, small+"-that-is-not-there")(t.Context(), messageOf("id-1"))
	var gone *types.QueueDoesNotExist
	require.ErrorAs(t, err, &gone)
	assert.False(t, isPermanent(err), "somebody may make it")
}

// From the commit of a handler to the effect of a consumer: nothing is lost, one message that the queue cannot take holds up nobody, and
// what arrives twice acts once.
func TestMessagesOfCommitsReachTheirConsumer(t *testing.T) {
	t.Parallel()
	const orders = 40
	client, db := moto.SQS(t), dynamolocal.Client(dynamolocal.Endpoint(t))
	records, messages := "records-"+strings.ToLower(t.Name()), "messages-"+strings.ToLower(t.Name())
	require.NoError(t, dynamo.CreateTable(t.Context(), db, records))
	require.NoError(t, outbox.CreateTable(t.Context(), db, messages))
	box := outbox.New(messages)
	order := idempotent.Wrap(func(ctx context.Context, size int) (string, error) {
		return dynamo.Commit(ctx, "placed", box.Message(ctx, "order-placed", strings.Repeat("x", size)))
	}, dynamo.New(db, records), idempotent.WithOperation("order"), idempotent.WithKey(func(size int) (string, error) { return fmt.Sprint("order-", size), nil }))
	for i := range orders {
		_, err := order.Handle(t.Context(), 1+i*50) // the last ones are larger than the queue takes
		require.NoError(t, err)
	}

	url := moto.NewQueue(t, client, "orders", map[string]string{"MaximumMessageSize": "1024"})
	deliver := outboxsqs.To(client, url)
	twice := func(ctx context.Context, m outbox.Message) error {
		return errors.Join(deliver(ctx, m), deliver(ctx, m))
	}
	report, err := outbox.NewRelay(db, messages, twice, outbox.WithGrace(0)).Drain(t.Context())
	require.NoError(t, err)
	fitting := (1024-2-1)/50 + 1
	assert.Equal(t, fitting, report.Delivered)
	assert.Equal(t, orders-fitting, report.Parked)
	assert.Equal(t, &report.Left{Parked: orders - fitting}, report.Left)

	acted := map[string]int{}
	consume := idempotent.Wrap(func(_ context.Context, m events.SQSMessage) (struct{}, error) {
		acted[m.Body]++
		return struct{}{}, nil
	}, memory.New(), idempotent.WithOperation("mail"), idempotent.WithKey(keyOf))
	received := receive(t, client, url)
	require.Len(t, received, 2*fitting)
	for _, m := range received {
		_, err := consume.Handle(t.Context(), eventOf(m))
		require.NoError(t, err)
	}
	assert.Len(t, acted, fitting)
	for body, times := range acted {
		assert.Equal(t, 1, times, "%d characters", len(body))
	}
}
