// Package queue knows the records of queues and streams: of SQS, Kinesis, DynamoDB Streams and
// Kafka. It says what a record is in its batch, what its key is, what of it all its deliveries have
// in common, and which events are whole batches.
package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/gateway"
)

// The sources of records, as a report.Batch names them.
const (
	SQS      = "sqs"
	Kinesis  = "kinesis"
	DynamoDB = "dynamodb"
	Kafka    = "kafka"
)

// Record is one record of an event, as far as a batch has to know it.
type Record[R any] struct {
	Event R
	// ID is what an answer calls the record, and Name what a report calls it. Within its batch each
	// has an ID of its own, but for copies of a message, and for records of Kinesis that were sent
	// together.
	ID, Name  string
	Group     string // what has to stay in order; empty is a group of its own
	From      string // where the record says that it comes from, such as "aws:sqs"
	Receives  int    // how often a queue has handed it over, 0 if nobody counts
	Partition string // of Kafka, as an answer names it
}

// valueOf is the record that an event points to, also by a pointer in between, nil if that is nil.
func valueOf(event any) any {
	v := reflect.Indirect(reflect.ValueOf(event).Elem())
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// Messages are those of an event of SQS. Those of a FIFO queue stay in order: its name tells, or a
// sequence number where there is no name. On a standard queue a group id says nothing about order:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html.
func Messages(event events.SQSEvent) []Record[events.SQSMessage] {
	all := make([]Record[events.SQSMessage], len(event.Records))
	for i, m := range event.Records {
		receives, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]) // 0 if there is none
		all[i] = Record[events.SQSMessage]{
			Event: m, ID: m.MessageId, Name: m.MessageId, From: m.EventSource, Receives: receives,
		}
		arn, number := m.EventSourceARN, m.Attributes["SequenceNumber"]
		if strings.HasSuffix(arn, ".fifo") || arn == "" && number != "" {
			all[i].Group = "group " + m.Attributes["MessageGroupId"]
		}
	}
	return all
}

// OnShard are the records of an event of Kinesis.
func OnShard(event events.KinesisEvent) []Record[events.KinesisEventRecord] {
	all := make([]Record[events.KinesisEventRecord], len(event.Records))
	for i, r := range event.Records {
		all[i] = Record[events.KinesisEventRecord]{
			Event: r, ID: r.Kinesis.SequenceNumber, Name: r.EventID, Group: "key " + r.Kinesis.PartitionKey,
			From: r.EventSource,
		}
	}
	return all
}

// Changes are the records of an event of a DynamoDB stream.
func Changes(event events.DynamoDBEvent) []Record[events.DynamoDBEventRecord] {
	all := make([]Record[events.DynamoDBEventRecord], len(event.Records))
	for i, r := range event.Records {
		all[i] = Record[events.DynamoDBEventRecord]{
			Event: r, ID: r.Change.SequenceNumber, Name: r.EventID, Group: "item " + itemOf(r.Change.Keys),
			From: r.EventSource,
		}
	}
	return all
}

// itemOf is the item of a change, as a text. Changes without readable keys stay in order together.
func itemOf(keys map[string]events.DynamoDBAttributeValue) (item string) {
	defer func() { _ = recover() }() // an empty value panics
	text, err := json.Marshal(keys)  // with its names in order
	if err != nil {
		return ""
	}
	return string(text)
}

// InPartitions are the records of an event of Kafka: partition by partition, each in its order,
// which it keeps unless none is asked for.
func InPartitions(event events.KafkaEvent, unordered bool) (all []Record[events.KafkaRecord]) {
	for _, partition := range slices.Sorted(maps.Keys(event.Records)) {
		for _, r := range event.Records[partition] {
			one := Record[events.KafkaRecord]{Event: r, Partition: partition, From: event.EventSource}
			if partition != "" {
				one.ID = partition + ":" + strconv.FormatInt(r.Offset, 10)
			}
			if one.Name = one.ID; !unordered {
				one.Group = "partition " + partition
			}
			all = append(all, one)
		}
	}
	return all
}

// Lowest returns the lowest of the sequence numbers of some records, as a list of at most one.
func Lowest[R any](records []Record[R]) []string {
	if len(records) == 0 {
		return nil
	}
	return []string{slices.MinFunc(records, func(a, b Record[R]) int { return compareNumbers(a.ID, b.ID) }).ID}
}

// compareNumbers compares sequence numbers: decimals with more digits than any integer type.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Key returns what finds the key of a record if no option says where it is, nil if in is not the
// type of a record, nor of a pointer to one. An event is a pointer to an in. A nil pointer has no
// key.
func Key(in reflect.Type) func(event any) (string, error) {
	if _, is := keyOf(reflect.Zero(gateway.ElemOf(in)).Interface()); !is {
		return nil
	}
	return func(event any) (string, error) {
		key, _ := keyOf(valueOf(event))
		return key, nil
	}
}

// keyOf also reports whether it is a record of a type that has keys. The key of a record of a
// Kinesis stream is its event id, which is shard and sequence number, within its stream, also for a
// consumer of its own (enhanced fan-out). The key of a record of a Kafka topic is where it stands.
// The record does not tell its cluster.
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
// on a FIFO queue, the deduplication id with which its producer marked it, within its queue, and
// within its group, because a queue can be told that each group has ids of its own. SQS forgets the
// id after five minutes. One that SQS made of the body, SHA-256 in hexadecimal, says nothing: next
// week the same body may be another order. See
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html.
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
