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
	if !tried.record(reflect.Zero(gateway.ElemOf(in)).Interface()) {
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

// record reports whether it is a record of a type that has a payload. A nil pointer is none. Ids,
// receipt handles, counts and times have no part in it, nor where a record stands.
func (h *payloadHash) record(record any) bool {
	switch r := record.(type) {
	case events.SQSMessage:
		h.String("sqs")
		gateway.DigestJSON(h.Hash, []byte(r.Body), h.exact)
		h.value(untraced(r.MessageAttributes))
	case events.SNSEntity:
		h.String("sns")
		h.String(r.TopicArn)
		h.String(r.Subject)
		gateway.DigestJSON(h.Hash, []byte(r.Message), h.exact)
		h.value(untraced(r.MessageAttributes))
	case events.SNSEventRecord:
		return h.record(r.SNS)
	case events.KinesisRecord:
		h.String("kinesis")
		h.String(r.PartitionKey)
		gateway.DigestJSON(h.Hash, r.Data, h.exact)
	case events.KinesisEventRecord:
		return h.record(r.Kinesis)
	case events.DynamoDBStreamRecord:
		h.String("stream")
		h.value([]any{r.Keys, r.OldImage, r.NewImage})
	case events.DynamoDBEventRecord:
		h.String(r.EventName)
		return h.record(r.Change)
	case events.EventBridgeEvent:
		h.String("eventbridge")
		h.String(r.Source)
		h.String(r.DetailType)
		gateway.DigestJSON(h.Hash, r.Detail, h.exact)
	case events.KafkaRecord:
		h.String("kafka")
		h.String(r.Key)
		gateway.DigestJSON(h.Hash, Value(r), h.exact)
		var headers []any
		for i := range r.Headers {
			for name, value := range untraced(r.Headers[i]) { // there is one
				headers = append(headers, name, []byte(value))
			}
		}
		h.value(headers)
	default:
		return false
	}
	return true
}

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

// tracing has the attributes by which tracers pass on the context of a trace. It differs each time
// a producer sends a message.
var tracing = map[string]bool{
	"traceparent": true, "tracestate": true, "baggage": true, "b3": true, "AWSTraceHeader": true,
	"X-Amzn-Trace-Id": true,
}
