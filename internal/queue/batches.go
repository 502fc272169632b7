package queue

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/gateway"
)

// batchFunction reports whether a type of package events is one record of a batch, and names the
// function of package batch that takes whole batches of them, empty where there is none.
func batchFunction(record reflect.Type) (function string, is bool) {
	switch record {
	case reflect.TypeFor[events.SQSMessage]():
		return "batch.SQS", true
	case reflect.TypeFor[events.KinesisEventRecord]():
		return "batch.Kinesis", true
	case reflect.TypeFor[events.DynamoDBEventRecord]():
		return "batch.DynamoDB", true
	case reflect.TypeFor[events.KafkaRecord]():
		return "batch.Kafka", true
	case reflect.TypeFor[events.SNSEventRecord](), reflect.TypeFor[events.S3EventRecord](),
		reflect.TypeFor[events.EventBridgeEvent](), reflect.TypeFor[events.KinesisFirehoseEventRecord](),
		reflect.TypeFor[events.ActiveMQMessage](), reflect.TypeFor[events.RabbitMQMessage]():
		return "", true
	}
	return "", false
}

// Problem says that an event is a whole batch. It is empty if the event is none. One key cannot
// stand for a batch: the same record comes again in another one. A batch is
//
//   - a list of records, as EventBridge Pipes send it
//   - a type of package events that has a list of them, also under another name or embedded in a
//     type of the user's
//   - a type with a field Records of them
func Problem(in reflect.Type) string {
	event := gateway.ElemOf(in)
	record := cmp.Or(recordOf(event), find(event, false, map[reflect.Type]bool{}, recordIn))
	if record == nil {
		return ""
	}
	then := "call its Handle for each"
	if function, _ := batchFunction(record); function != "" {
		then = "hand it to " + function
		if strings.HasSuffix(event.Name(), "TimeWindowEvent") {
			then += ", which has no tumbling windows"
		}
	}
	return fmt.Sprintf("%v is a whole batch of records, and the same record may come again in another batch: wrap a "+
		"handler of one record "+
		"(%v) and %s, see docs/batches.md", event, record, then)
}

// recordIn returns the type of the records of which a struct is a batch, nil if it is none.
func recordIn(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		if record := recordOf(f.Type); record != nil && (f.Name == "Records" || ofEvents(t)) {
			return record
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
	if _, is := batchFunction(record); !is {
		return nil
	}
	return record
}

// Event returns the type of package events that a type is, embeds, points to, or has as its
// elements. It returns nil if there is none.
func Event(t reflect.Type) reflect.Type {
	return find(t, true, map[reflect.Type]bool{}, func(t reflect.Type) reflect.Type {
		if t.Kind() == reflect.Struct && ofEvents(t) {
			return t
		}
		return nil
	})
}

// ofEvents reports whether a type is one of package events.
func ofEvents(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[events.SQSMessage]().PkgPath()
}

// find returns the first type that look finds in a type, in what that points to, or lists if lists
// count, and in what it embeds. Types may embed themselves: seen are those that are not looked at
// again.
func find(
	t reflect.Type, lists bool, seen map[reflect.Type]bool, look func(reflect.Type) reflect.Type,
) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	found := look(t)
	switch kind := t.Kind(); {
	case found != nil:
	case kind == reflect.Struct:
		for f := range t.Fields() {
			if f.Anonymous && found == nil {
				found = find(f.Type, lists, seen, look)
			}
		}
	case kind == reflect.Pointer, lists && (kind == reflect.Slice || kind == reflect.Array || kind == reflect.Map):
		found = find(t.Elem(), lists, seen, look)
	}
	return found
}
