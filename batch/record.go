package batch

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// The sources of records, as a [report.Batch] names them.
const (
	sourceSQS      = "sqs"
	sourceKinesis  = "kinesis"
	sourceDynamoDB = "dynamodb"
)

// record is one record of an event, as far as the batch has to know it.
type record[R any] struct {
	event R
	// id is what an answer calls the record, and name what a report calls it.
	id, name string
	// group is what has to stay in order; empty is a group of its own.
	group string
	// from is where the record says that it comes from, such as "aws:sqs".
	from string
	// receives is how often a queue has handed it over, 0 if nobody counts.
	receives int
}

func messagesOf(event events.SQSEvent) []record[events.SQSMessage] {
	all := make([]record[events.SQSMessage], len(event.Records))
	for i, m := range event.Records {
		receives, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]) // 0 if there is none
		all[i] = record[events.SQSMessage]{event: m, id: m.MessageId, name: m.MessageId, from: m.EventSource, receives: receives}
		if isFIFO(m) {
			all[i].group = "group " + m.Attributes["MessageGroupId"]
		}
	}
	return all
}

// isFIFO reports whether a message is one of a FIFO queue, whose name ends so. A message of a standard queue may have a group id, too, which
// says nothing about order: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html. A sequence number
// tells where there is no name.
func isFIFO(m events.SQSMessage) bool {
	return strings.HasSuffix(m.EventSourceARN, ".fifo") || m.EventSourceARN == "" && m.Attributes["SequenceNumber"] != ""
}

func kinesisRecordsOf(event events.KinesisEvent) []record[events.KinesisEventRecord] {
	all := make([]record[events.KinesisEventRecord], len(event.Records))
	for i, r := range event.Records {
		all[i] = record[events.KinesisEventRecord]{
			event: r, id: r.Kinesis.SequenceNumber, name: r.EventID, group: "key " + r.Kinesis.PartitionKey, from: r.EventSource,
		}
	}
	return all
}

func changesOf(event events.DynamoDBEvent) []record[events.DynamoDBEventRecord] {
	all := make([]record[events.DynamoDBEventRecord], len(event.Records))
	for i, r := range event.Records {
		var keys []byte                                                       // what has none that can be read stays in order with all of its kind
		if guarded(func() { keys, _ = json.Marshal(r.Change.Keys) }) != nil { // with its names in order; an empty value panics
			keys = nil
		}
		all[i] = record[events.DynamoDBEventRecord]{
			event: r, id: r.Change.SequenceNumber, name: r.EventID, group: "item " + string(keys), from: r.EventSource,
		}
	}
	return all
}

// lowest returns the lowest of some sequence numbers, as a list of one, or of none if there is none.
func lowest(numbers []string) []string {
	if len(numbers) == 0 {
		return nil
	}
	first := numbers[0]
	for _, n := range numbers[1:] {
		if compareNumbers(n, first) < 0 {
			first = n
		}
	}
	return []string{first}
}

// compareNumbers compares sequence numbers, which are decimal and have more digits than any integer type.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
