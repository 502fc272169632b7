package queue

import (
	"encoding/base64"
	"reflect"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/gateway"
)

// Payload returns what adds to a fingerprint the part of a record that all its deliveries have in
// common. It returns nil if in is not the type of a record, nor of a pointer to one. An event is a
// pointer to an in. A nil pointer has no payload. With exact, names that differ in case are two.
func Payload(in reflect.Type, exact bool) func(h *fingerprint.Hash, event any) error {
	tried := payloadHash{Hash: fingerprint.New("")}
	if !tried.record(reflect.Zero(elemOf(in)).Interface()) {
		return nil
	}
	return func(h *fingerprint.Hash, event any) error {
		payload := payloadHash{Hash: h, exact: exact}
		payload.record(valueOf(event))
		return payload.err
	}
}

// Value is what a record of a Kafka topic says: base64 in the event. What is none is taken as it
// is.
func Value(r events.KafkaRecord) []byte {
	value, err := base64.StdEncoding.DecodeString(r.Value)
	if err != nil {
		return []byte(r.Value)
	}
	return value
}

// payloadHash adds the payloads of records to a fingerprint. Digests are stored: what is added
// here, and in which order, must never change.
type payloadHash struct {
	*fingerprint.Hash

	exact bool
	err   error
}

// record reports whether it is a record of a type that has a payload. A nil pointer is none.
func (h *payloadHash) record(record any) bool {
	switch r := record.(type) {
	case events.SQSMessage:
		h.sqs(r)
	case events.SNSEntity:
		h.sns(r)
	case events.SNSEventRecord:
		h.sns(r.SNS)
	case events.KinesisRecord:
		h.kinesis(r)
	case events.KinesisEventRecord:
		h.kinesis(r.Kinesis)
	case events.DynamoDBStreamRecord:
		h.stream(r)
	case events.DynamoDBEventRecord:
		h.change(r)
	case events.EventBridgeEvent:
		h.eventBridge(r)
	case events.KafkaRecord:
		h.kafka(r)
	default:
		return false
	}
	return true
}

func (h *payloadHash) text(s string) { gateway.DigestJSON(h.Hash, []byte(s), h.exact) }

func (h *payloadHash) value(v any) {
	if err := h.Value(v); err != nil && h.err == nil {
		h.err = err
	}
}

// untraced are the attributes without those that carry the context of a trace.
func untraced[V any](attributes map[string]V) map[string]V {
	kept := make(map[string]V, len(attributes))
	for name, a := range attributes {
		if !tracing[name] {
			kept[name] = a
		}
	}
	return kept
}

// sqs leaves out ids, receipt handles and counts, and the attributes that carry the context of a
// trace.
func (h *payloadHash) sqs(m events.SQSMessage) {
	h.String("sqs")
	h.text(m.Body)
	h.value(untraced(m.MessageAttributes))
}

// kafka leaves out where the record stands and when it was written.
func (h *payloadHash) kafka(r events.KafkaRecord) {
	h.String("kafka")
	h.String(r.Key)
	h.text(string(Value(r)))
	var headers []any
	for i := range r.Headers {
		for name, value := range r.Headers[i] { // there is one
			if !tracing[name] {
				headers = append(headers, name, []byte(value))
			}
		}
	}
	h.value(headers)
}

func (h *payloadHash) sns(m events.SNSEntity) {
	h.String("sns")
	h.String(m.TopicArn)
	h.String(m.Subject)
	h.text(m.Message)
	h.value(untraced(m.MessageAttributes))
}

func (h *payloadHash) kinesis(r events.KinesisRecord) {
	h.String("kinesis")
	h.String(r.PartitionKey)
	gateway.DigestJSON(h.Hash, r.Data, h.exact)
}

func (h *payloadHash) change(r events.DynamoDBEventRecord) {
	h.String(r.EventName)
	h.stream(r.Change)
}

func (h *payloadHash) stream(r events.DynamoDBStreamRecord) {
	h.String("stream")
	h.value([]any{r.Keys, r.OldImage, r.NewImage})
}

func (h *payloadHash) eventBridge(e events.EventBridgeEvent) {
	h.String("eventbridge")
	h.String(e.Source)
	h.String(e.DetailType)
	gateway.DigestJSON(h.Hash, e.Detail, h.exact)
}

// tracing has the attributes by which tracers pass on the context of a trace. It differs each time
// a producer sends a message.
var tracing = map[string]bool{
	"traceparent": true, "tracestate": true, "baggage": true, "b3": true, "AWSTraceHeader": true,
	"X-Amzn-Trace-Id": true,
}
