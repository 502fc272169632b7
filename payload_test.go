package idempotent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func TestOneIDWithAnotherAmountIsAMismatch(t *testing.T) {
	t.Parallel()
	pay := func(opts ...idempotent.Option) *idempotent.Handler[order, receipt] {
		return idempotent.Wrap(func(_ context.Context, o order) (receipt, error) {
			return receipt{Amount: o.Amount},
				nil
		}, memory.New(),
			append(opts, idempotent.WithOperation("pay"), idempotent.WithKeyPath("id"))...)
	}
	h := pay()
	paid, err := h.Invoke(t.Context(), []byte(`{"id":"o-1","amount":10}`))
	require.NoError(t, err)
	again, err := h.Invoke(t.Context(), []byte(` { "amount": 10.0, "id": "o-1" } `))
	require.NoError(t, err)
	assert.Equal(t, string(paid), string(again), "the value counts, and not its spelling")
	_, err = h.Invoke(t.Context(), []byte(`{"id":"o-1","amount":9000}`))
	require.ErrorIs(t, err, idempotent.ErrMismatch)
	_, err = h.Invoke(t.Context(), []byte(`{"id":"o-1","amount":10,"note":"x"}`))
	require.ErrorIs(t, err, idempotent.ErrMismatch, "the whole event")

	h = pay(keyOnly[order]())
	paid, err = h.Invoke(t.Context(), []byte(`{"id":"o-1","amount":10}`))
	require.NoError(t, err)
	again, err = h.Invoke(t.Context(), []byte(`{"id":"o-1","amount":9000}`))
	require.NoError(t, err)
	assert.Equal(t, string(paid), string(again))
}

// paymentOf has a record of package events in an event of its own.
type paymentOf struct {
	events.SQSMessage

	Tenant string `json:"tenant"`
}

// payloadFingerprint is what the default fingerprint of an event is.
func payloadFingerprint[In any](t *testing.T, in In) string {
	t.Helper()
	payload, err := json.Marshal(in)
	require.NoError(t, err)
	byValue, err := idempotent.Wrap(func(context.Context, In) (receipt, error) { return receipt{}, nil }, memory.New(),
		keyed[In]("k")...).
		DescribeEvent(t.Context(), payload)
	require.NoError(t, err)
	require.NotEmpty(t, byValue.Fingerprint)
	byPointer, err := idempotent.Wrap(func(context.Context, *In) (receipt, error) { return receipt{}, nil },
		memory.New(), keyed[*In]("k")...).
		DescribeEvent(t.Context(), payload)
	require.NoError(t, err)
	require.Equal(t, byValue, byPointer)
	return byValue.Fingerprint
}

// assertPayload checks what of a record makes its fingerprint: no change in same does, every change
// in others does.
func assertPayload[In any](t *testing.T, in func() In, same, others []func(*In)) {
	t.Helper()
	first := payloadFingerprint(t, in())
	for i, change := range same {
		r := in()
		change(&r)
		assert.Equal(t, first, payloadFingerprint(t, r), "%T: same %d", r, i)
	}
	seen := []string{first}
	for i, change := range others {
		r := in()
		change(&r)
		other := payloadFingerprint(t, r)
		assert.NotContains(t, seen, other, "%T: other %d", r, i)
		seen = append(seen, other)
	}
}

func TestRedeliveriesOfARecordHaveOneFingerprint(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	attribute := func(s string) events.SQSMessageAttribute {
		return events.SQSMessageAttribute{DataType: "String", StringValue: text(s)}
	}
	sqs := func() events.SQSMessage {
		return events.SQSMessage{
			MessageId: "m-1", ReceiptHandle: "r-1", Body: `{"id":1,"amount":10}`, Md5OfBody: "x",
			Attributes:        map[string]string{"ApproximateReceiveCount": "1", "AWSTraceHeader": "Root=1"},
			MessageAttributes: map[string]events.SQSMessageAttribute{"currency": attribute("EUR")},
			EventSourceARN:    "arn:aws:sqs:eu-central-1:1:pay", AWSRegion: "eu-central-1",
		}
	}
	assertPayload(t, sqs, []func(*events.SQSMessage){
		func(m *events.SQSMessage) { m.ReceiptHandle, m.Attributes["ApproximateReceiveCount"] = "r-2", "2" },
		func(m *events.SQSMessage) { m.MessageId, m.Attributes = "m-2", nil },
		func(m *events.SQSMessage) { m.Body = ` {"amount":10.0,"id":1}` },
		func(m *events.SQSMessage) { m.MessageAttributes["traceparent"] = attribute("00-1") },
	}, []func(*events.SQSMessage){
		func(m *events.SQSMessage) { m.Body = `{"id":1,"amount":9000}` },
		func(m *events.SQSMessage) { m.Body = `pay 10` },
		func(m *events.SQSMessage) { m.Body = `"pay 10"` },
		func(m *events.SQSMessage) { m.MessageAttributes["currency"] = attribute("USD") },
		func(m *events.SQSMessage) { m.MessageAttributes["refund"] = attribute("true") },
		func(m *events.SQSMessage) { m.MessageAttributes = nil },
	})

	sns := func() events.SNSEntity {
		return events.SNSEntity{
			MessageID: "m-1", Signature: "s", Timestamp: time.Unix(1, 0), TopicArn: "topic", Subject: "s",
			Message:           `{"amount":10}`,
			MessageAttributes: map[string]any{"currency": map[string]any{"Type": "String", "Value": "EUR"}},
		}
	}
	assertPayload(t, sns, []func(*events.SNSEntity){
		func(m *events.SNSEntity) { m.MessageID, m.Signature, m.Timestamp = "m-2", "t", time.Unix(2, 0) },
		func(m *events.SNSEntity) { m.MessageAttributes["traceparent"] = "x" },
	}, []func(*events.SNSEntity){
		func(m *events.SNSEntity) { m.Message = `{"amount":9000}` },
		func(m *events.SNSEntity) { m.Subject = "t" },
		func(m *events.SNSEntity) { m.TopicArn = "other" },
		func(m *events.SNSEntity) { m.MessageAttributes = nil },
	})
	assertPayload(t, func() events.SNSEventRecord { return events.SNSEventRecord{SNS: sns()} },
		[]func(*events.SNSEventRecord){
			func(r *events.SNSEventRecord) { r.SNS.MessageID, r.EventSubscriptionArn = "m-2", "subscription" },
		}, []func(*events.SNSEventRecord){func(r *events.SNSEventRecord) { r.SNS.Message = "x" }})

	kinesis := func() events.KinesisEventRecord {
		return events.KinesisEventRecord{
			EventID: "e-1",
			Kinesis: events.KinesisRecord{SequenceNumber: "1", PartitionKey: "p", Data: []byte(`{"amount":10}`)},
		}
	}
	assertPayload(t, kinesis, []func(*events.KinesisEventRecord){
		func(r *events.KinesisEventRecord) { r.EventID, r.Kinesis.SequenceNumber = "e-2", "2" },
	}, []func(*events.KinesisEventRecord){
		func(r *events.KinesisEventRecord) { r.Kinesis.Data = []byte(`{"amount":9000}`) },
		func(r *events.KinesisEventRecord) { r.Kinesis.PartitionKey = "q" },
	})
	assertPayload(t, func() events.KinesisRecord { return kinesis().Kinesis }, nil, []func(*events.KinesisRecord){
		func(r *events.KinesisRecord) { r.Data = nil },
	})

	image := func(n string) map[string]events.DynamoDBAttributeValue {
		return map[string]events.DynamoDBAttributeValue{"n": events.NewNumberAttribute(n)}
	}
	stream := func() events.DynamoDBEventRecord {
		return events.DynamoDBEventRecord{EventID: "e-1", EventName: "MODIFY", Change: events.DynamoDBStreamRecord{
			SequenceNumber: "1", Keys: image("1"), OldImage: image("2"), NewImage: image("3"),
		}}
	}
	assertPayload(t, stream, []func(*events.DynamoDBEventRecord){
		func(r *events.DynamoDBEventRecord) { r.EventID, r.Change.SequenceNumber = "e-2", "2" },
	}, []func(*events.DynamoDBEventRecord){
		func(r *events.DynamoDBEventRecord) { r.EventName = "REMOVE" },
		func(r *events.DynamoDBEventRecord) { r.Change.Keys = image("9") },
		func(r *events.DynamoDBEventRecord) { r.Change.OldImage = image("9") },
		func(r *events.DynamoDBEventRecord) { r.Change.NewImage = image("9") },
		func(r *events.DynamoDBEventRecord) { r.Change.NewImage = nil },
	})
	assertPayload(t, func() events.DynamoDBStreamRecord { return stream().Change }, nil,
		[]func(*events.DynamoDBStreamRecord){
			func(r *events.DynamoDBStreamRecord) { r.NewImage = image("9") },
		})

	bridge := func() events.EventBridgeEvent {
		return events.EventBridgeEvent{
			ID: "1", Time: time.Unix(1, 0).UTC(), Source: "shop", DetailType: "paid",
			Detail: json.RawMessage(`{"amount":10}`),
		}
	}
	assertPayload(t, bridge, []func(*events.EventBridgeEvent){
		func(e *events.EventBridgeEvent) { e.ID, e.Time = "2", time.Unix(2, 0).UTC() },
	}, []func(*events.EventBridgeEvent){
		func(e *events.EventBridgeEvent) { e.Source = "other" },
		func(e *events.EventBridgeEvent) { e.DetailType = "refunded" },
		func(e *events.EventBridgeEvent) { e.Detail = json.RawMessage(`{"amount":9000}`) },
	})
}

func TestAnEventWithIDsAndTimesNeedsAChoice(t *testing.T) {
	t.Parallel()
	needsAChoice[events.APIGatewayWebsocketProxyRequest](t, "events.APIGatewayWebsocketProxyRequest")
	needsAChoice[*events.CognitoEvent](t, "events.CognitoEvent")
	needsAChoice[events.S3EventRecord](t, "events.S3EventRecord")
	needsAChoice[paymentOf](t, "events.SQSMessage")
	// The same event behind more than one pointer, or several of them.
	needsAChoice[**events.SQSMessage](t, "events.SQSMessage")
	needsAChoice[[]events.SNSEntity](t, "events.SNSEntity")
	needsAChoice[map[string]*events.S3EventRecord](t, "events.S3EventRecord")
	needsAChoice[*struct{ *paymentOf }](t, "events.SQSMessage")
}

// selfEmbedding embeds itself, which encoding/json allows.
type selfEmbedding struct {
	*selfEmbedding //nolint:unused // it is the embedding that counts
	order
}

func TestATypeThatEmbedsItselfIsOneOfYourOwn(t *testing.T) {
	t.Parallel()
	one, other := selfEmbedding{order: order{ID: "o-1", Amount: 10}},
		selfEmbedding{order: order{ID: "o-1", Amount: 9000}}
	assert.NotEqual(t, payloadFingerprint(t, one), payloadFingerprint(t, other))
}

func needsAChoice[In any](t *testing.T, named string) {
	t.Helper()
	wrap := func(opts ...idempotent.Option) func() {
		return func() {
			idempotent.Wrap(func(context.Context, In) (receipt, error) { return receipt{}, nil },
				memory.New(), append(opts,
					idempotent.WithOperation("pay"),
					idempotent.WithKey(func(In) (string, error) { return "k", nil }))...)
		}
	}
	problems := problemsOf(t, wrap())
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "WithFingerprint or WithFingerprintPath")
	assert.Contains(t, problems[0], named)
	assert.NotPanics(t, wrap(keyOnly[In]()))
	assert.NotPanics(t, wrap(idempotent.WithFingerprintPath("body")))
}
