package idempotent

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// recordKeyOf returns what finds the key of a record of a queue or a stream if no option says where it is. It returns nil if In is no such
// record.
func recordKeyOf(in reflect.Type) func(in any) (string, error) {
	for _, key := range []func(in any) (string, error){
		keyFrom(in, keyOfMessage),
		keyFrom(in, keyOfKinesis),
		keyFrom(in, func(r events.DynamoDBEventRecord) string { return r.EventID }),
	} {
		if key != nil {
			return key
		}
	}
	return nil
}

// keyFrom makes key a function of a pointer to In if In is T or *T. A nil pointer has no key.
func keyFrom[T any](in reflect.Type, key func(r T) string) func(in any) (string, error) {
	switch in {
	case reflect.TypeFor[*T]():
		return func(in any) (string, error) {
			if r := *in.(**T); r != nil { //nolint:forcetypeassert // just checked
				return key(*r), nil
			}
			return "", nil
		}
	case reflect.TypeFor[T]():
		return func(in any) (string, error) { return key(*in.(*T)), nil } //nolint:forcetypeassert // just checked
	default:
		return nil
	}
}

// keyOfMessage returns the key of a message: its id, which all its deliveries have in common; or, on a FIFO queue, the deduplication id with
// which its producer marked it, within its queue and group. SQS forgets that after five minutes. A deduplication id that SQS made of the body, SHA-256 in
// hexadecimal, says nothing: next week the same body may be another order. See
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html.
//
// The group belongs to it, because a queue can be told that each group has deduplication ids of its own.
func keyOfMessage(m events.SQSMessage) string {
	id := m.Attributes["MessageDeduplicationId"]
	if sum := sha256.Sum256([]byte(m.Body)); id == "" || id == hex.EncodeToString(sum[:]) {
		return m.MessageId
	}
	return together(m.EventSourceARN, m.Attributes["MessageGroupId"], id)
}

// keyOfKinesis returns the key of a record of a Kinesis stream: the event id, which is shard and sequence number, within its stream. The stream is the same
// for a consumer of its own (enhanced fan-out).
func keyOfKinesis(r events.KinesisEventRecord) string {
	if r.EventID == "" {
		return ""
	}
	stream, _, _ := strings.Cut(r.EventSourceArn, "/consumer/")
	return together(stream, r.EventID)
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
