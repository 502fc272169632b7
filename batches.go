package idempotent

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-lambda-go/events"
)

// batches are the events of whole batches, with the type of their records. One key cannot stand for a batch: the same record
// comes again in another one.
func batches() map[reflect.Type]reflect.Type {
	return map[reflect.Type]reflect.Type{
		reflect.TypeFor[events.SQSEvent]():                reflect.TypeFor[events.SQSMessage](),
		reflect.TypeFor[events.SNSEvent]():                reflect.TypeFor[events.SNSEventRecord](),
		reflect.TypeFor[events.KinesisEvent]():            reflect.TypeFor[events.KinesisEventRecord](),
		reflect.TypeFor[events.KinesisTimeWindowEvent]():  reflect.TypeFor[events.KinesisEventRecord](),
		reflect.TypeFor[events.KinesisFirehoseEvent]():    reflect.TypeFor[events.KinesisFirehoseEventRecord](),
		reflect.TypeFor[events.DynamoDBEvent]():           reflect.TypeFor[events.DynamoDBEventRecord](),
		reflect.TypeFor[events.DynamoDBTimeWindowEvent](): reflect.TypeFor[events.DynamoDBEventRecord](),
		reflect.TypeFor[events.KafkaEvent]():              reflect.TypeFor[events.KafkaRecord](),
	}
}

// batchProblem says that an event is a whole batch. It is empty if the event is none.
func batchProblem(in reflect.Type) string {
	event := elemOf(in)
	record, isBatch := batches()[event]
	if !isBatch {
		return ""
	}
	return fmt.Sprintf("%v is a whole batch of records, and the same record may come again in another batch: wrap a handler of one "+
		"record (%v) and call its Handle for each, see \"Batches\" in docs/keys.md", event, record)
}
