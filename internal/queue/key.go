package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Key returns what finds the key of a record if no option says where it is. It returns nil if in is
// not the type of a record, nor of a pointer to one. An event is a pointer to an in. A nil pointer
// has no key.
func Key(in reflect.Type) func(event any) (string, error) {
	if _, is := keyOf(reflect.Zero(elemOf(in)).Interface()); !is {
		return nil
	}
	return func(event any) (string, error) {
		key, _ := keyOf(valueOf(event))
		return key, nil
	}
}

// keyOf also reports whether it is a record of a type that has keys. The key of a record of a
// Kinesis stream is its event id, which is shard and sequence number, within its stream. The stream
// is the same for a consumer of its own (enhanced fan-out). The key of a record of a Kafka topic is
// where it stands. The record does not tell its cluster.
func keyOf(record any) (key string, is bool) {
	switch r := record.(type) {
	case events.SQSMessage:
		return keyOfMessage(r), true
	case events.KinesisEventRecord:
		if stream, _, _ := strings.Cut(r.EventSourceArn, "/consumer/"); r.EventID != "" {
			key = together(stream, r.EventID)
		}
		return key, true
	case events.DynamoDBEventRecord:
		return r.EventID, true
	case events.KafkaRecord:
		if r.Topic != "" {
			key = together(r.Topic, strconv.FormatInt(r.Partition, 10), strconv.FormatInt(r.Offset, 10))
		}
		return key, true
	default:
		return "", false // also a nil pointer
	}
}

// keyOfMessage returns the key of a message: its id, which all its deliveries have in common; or,
// on a FIFO queue, the deduplication id with which its producer marked it, within its queue and
// group. SQS forgets that after five minutes. A deduplication id that SQS made of the body, SHA-256
// in hexadecimal, says nothing: next week the same body may be another order. See
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html.
//
// The group belongs to it, because a queue can be told that each group has deduplication ids of its
// own.
func keyOfMessage(m events.SQSMessage) string {
	id := m.Attributes["MessageDeduplicationId"]
	if sum := sha256.Sum256([]byte(m.Body)); id == "" || id == hex.EncodeToString(sum[:]) {
		return m.MessageId
	}
	return together(m.EventSourceARN, m.Attributes["MessageGroupId"], id)
}

// together writes some texts as one, so that no others are written the same.
func together(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
	}
	return b.String()
}
