package moto_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxsqs"
	"github.com/go-idempotent/idempotent/proof/moto"
)

const traced = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

func messageOf(id string) outbox.Message {
	return outbox.Message{
		ID: id, Topic: "größe", Body: json.RawMessage(`{"text":"a \"quoted\" größe ` + "\uFFFF" + `"}`),
		Attributes: map[string]string{"Region": "eu"},
		Tenant:     "acme", Trace: traced,
	}
}

// receive takes what is in a queue. What was received is not received again for a while.
func receive(t *testing.T, client *sqs.Client, url string) (all []types.Message) {
	t.Helper()
	for {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(url), MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
			VisibilityTimeout:           3600,
		})
		require.NoError(t, err)
		if len(out.Messages) == 0 {
			return all
		}
		all = append(all, out.Messages...)
	}
}

// The consumer acts by the key that arrives, as the test of package outboxsqs shows.
func TestAStandardQueueTakesTheWholeMessageAsOftenAsItIsSent(t *testing.T) {
	t.Parallel()
	client := moto.SQS(t)
	url := moto.NewQueue(t, client, "whole", nil)
	for range 2 {
		require.NoError(t, outboxsqs.To(client, url)(t.Context(), messageOf("id-1")))
	}
	all := receive(t, client, url)
	require.Len(t, all, 2)
	for _, m := range all {
		assert.JSONEq(t, string(messageOf("id-1").Body), *m.Body)
		assert.Equal(t, traced, m.Attributes["AWSTraceHeader"])
		texts := map[string]string{}
		for name, value := range m.MessageAttributes {
			texts[name] = aws.ToString(value.StringValue)
		}
		assert.Equal(t,
			map[string]string{"Idempotency-Key": "id-1", "topic": "größe", "tenant": "acme", "Region": "eu"}, texts)
	}
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
	isPermanent := func(err error) bool { _, is := errors.AsType[*relay.PermanentError](err); return is }
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
