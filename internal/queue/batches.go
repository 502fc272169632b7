package queue

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/gateway"
)

// batchFunctions are the types of package events that stand for one record of a batch, with the
// function of package batch that takes whole batches of them, empty where there is none.
func batchFunctions() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[events.SQSMessage]():                 "batch.SQS",
		reflect.TypeFor[events.KinesisEventRecord]():         "batch.Kinesis",
		reflect.TypeFor[events.DynamoDBEventRecord]():        "batch.DynamoDB",
		reflect.TypeFor[events.SNSEventRecord]():             "",
		reflect.TypeFor[events.S3EventRecord]():              "",
		reflect.TypeFor[events.EventBridgeEvent]():           "",
		reflect.TypeFor[events.KinesisFirehoseEventRecord](): "",
		reflect.TypeFor[events.KafkaRecord]():                "batch.Kafka",
		reflect.TypeFor[events.ActiveMQMessage]():            "",
		reflect.TypeFor[events.RabbitMQMessage]():            "",
	}
}

// Problem says that an event is a whole batch. It is empty if the event is none. One key cannot
// stand for a batch: the same record comes again in another one.
func Problem(in reflect.Type) string {
	event := gateway.ElemOf(in)
	record := recordIn(event, map[reflect.Type]bool{})
	if record == nil {
		return ""
	}
	then := "call its Handle for each"
	if function := batchFunctions()[record]; function != "" {
		then = "hand it to " + function
		if strings.HasSuffix(event.Name(), "TimeWindowEvent") {
			then += ", which has no tumbling windows"
		}
	}
	return fmt.Sprintf("%v is a whole batch of records, and the same record may come again in another batch: wrap a "+
		"handler of one record "+
		"(%v) and %s, see docs/batches.md", event, record, then)
}

// recordIn returns the type of the records of which an event is a batch, nil if it is none. A batch
// is
//
//   - a list of records, as EventBridge Pipes send it
//   - a type of package events that has a list of them, also under another name or embedded in a
//     type of the user's
//   - a type with a field Records of them
//
// Types may embed themselves: seen are those that are not looked at again.
func recordIn(event reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if record := recordOf(event); record != nil {
		return record
	}
	if event.Kind() != reflect.Struct || seen[event] {
		return nil
	}
	seen[event] = true
	ofEvents := event.PkgPath() == reflect.TypeFor[events.SQSEvent]().PkgPath()
	for f := range event.Fields() {
		switch {
		case f.Anonymous && gateway.ElemOf(f.Type).Kind() == reflect.Struct:
			if record := recordIn(gateway.ElemOf(f.Type), seen); record != nil {
				return record
			}
		case ofEvents || f.Name == "Records":
			if record := recordOf(f.Type); record != nil {
				return record
			}
		}
	}
	return nil
}

// recordOf returns the type of the records of a list, or of a map of lists, nil if it is none of
// records.
func recordOf(list reflect.Type) reflect.Type {
	if list.Kind() == reflect.Map {
		list = list.Elem()
	}
	if list.Kind() != reflect.Slice && list.Kind() != reflect.Array {
		return nil
	}
	record := gateway.ElemOf(list.Elem())
	if _, is := batchFunctions()[record]; !is {
		return nil
	}
	return record
}

// Event returns the type of package events that a type is, embeds, points to, or has as its
// elements. It returns nil if there is none.
func Event(t reflect.Type) reflect.Type { return eventIn(t, map[reflect.Type]bool{}) }

// eventIn is Event. Types may embed themselves: seen are those that are not looked at again.
func eventIn(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return eventIn(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if t.PkgPath() == reflect.TypeFor[events.SQSMessage]().PkgPath() {
		return t
	}
	for f := range t.Fields() {
		if f.Anonymous {
			if named := eventIn(f.Type, seen); named != nil {
				return named
			}
		}
	}
	return nil
}
