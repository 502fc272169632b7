package queue

import (
	"encoding/base64"
	"reflect"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/gateway"
)

// Payload returns what adds to a fingerprint the part of a record that all its deliveries have in
// common, nil if in is not the type of a record, nor of a pointer to one. An event is a pointer to
// an in. A nil pointer has no payload. With exact, names that differ in case are two.
func Payload(in reflect.Type, exact bool) func(h *fingerprint.Hash, event any) error {
	tried := reflect.Zero(gateway.ElemOf(in)).Interface()
	if is, _ := addRecord(fingerprint.New(""), tried, exact); !is {
		return nil
	}
	return func(h *fingerprint.Hash, event any) error {
		_, err := addRecord(h, valueOf(event), exact)
		return err
	}
}

// addRecord adds the payload of a record, and reports whether it is a record of a type that has
// one. A nil pointer is none. Ids, receipt handles, counts and times have no part in it, nor where
// a record stands.
//
// Digests are stored: what is added here, and in which order, must never change.
func addRecord(h *fingerprint.Hash, record any, exact bool) (is bool, _ error) {
	switch r := record.(type) {
	case events.SQSMessage:
		h.String("sqs")
		gateway.DigestJSON(h, []byte(r.Body), exact)
		return true, h.Value(untraced(r.MessageAttributes))
	case events.SNSEntity:
		h.String("sns")
		h.String(r.TopicArn)
		h.String(r.Subject)
		gateway.DigestJSON(h, []byte(r.Message), exact)
		return true, h.Value(untraced(r.MessageAttributes))
	case events.SNSEventRecord:
		return addRecord(h, r.SNS, exact)
	case events.KinesisRecord:
		h.String("kinesis")
		h.String(r.PartitionKey)
		gateway.DigestJSON(h, r.Data, exact)
		return true, nil
	case events.KinesisEventRecord:
		return addRecord(h, r.Kinesis, exact)
	case events.DynamoDBStreamRecord:
		h.String("stream")
		return true, h.Value([]any{r.Keys, r.OldImage, r.NewImage})
	case events.DynamoDBEventRecord:
		h.String(r.EventName)
		return addRecord(h, r.Change, exact)
	case events.EventBridgeEvent:
		h.String("eventbridge")
		h.String(r.Source)
		h.String(r.DetailType)
		gateway.DigestJSON(h, r.Detail, exact)
		return true, nil
	case events.KafkaRecord:
		h.String("kafka")
		h.String(r.Key)
		gateway.DigestJSON(h, Value(r), exact)
		var headers []any
		for i := range r.Headers {
			for name, value := range untraced(r.Headers[i]) { // there is one
				headers = append(headers, name, []byte(value))
			}
		}
		return true, h.Value(headers)
	}
	return false, nil
}

// Value is what a record of a Kafka topic says: base64 in the event, and anything else as it is.
func Value(r events.KafkaRecord) []byte {
	if value, err := base64.StdEncoding.DecodeString(r.Value); err == nil {
		return value
	}
	return []byte(r.Value)
}

func untraced[V any](attributes map[string]V) map[string]V {
	kept := make(map[string]V, len(attributes))
	for name, a := range attributes {
		if !tracing[name] {
			kept[name] = a
		}
	}
	return kept
}

// tracing has the attributes with the context of a trace, which differs each time that a producer
// sends a message.
var tracing = map[string]bool{
	"traceparent": true, "tracestate": true, "baggage": true, "b3": true, "AWSTraceHeader": true,
	"X-Amzn-Trace-Id": true,
}
