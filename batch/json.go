package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/queue"
)

// JSON returns a handler of a record for [idempotent.Wrap] that decodes the body of the record,
// JSON, and calls h with it: the body of a message, the data of a record of a Kinesis stream, or
// the value of a record of Kafka. Unknown names in it are ignored, as by encoding/json.
//
// A body that does not decode into a T, that is empty, or null, is a [*BodyError], marked as
// [idempotent.NotExecuted]. So is the tombstone of a compacted topic.
func JSON[T any, R interface {
	events.SQSMessage | events.KinesisEventRecord | events.KafkaRecord
}, Out any](h func(ctx context.Context, body T, record R) (Out, error)) func(context.Context, R) (Out, error) {
	if h == nil {
		return nil // which Wrap refuses
	}
	return func(ctx context.Context, record R) (Out, error) {
		var body T
		var text []byte
		switch r := any(record).(type) {
		case events.SQSMessage:
			text = []byte(r.Body)
		case events.KinesisEventRecord:
			text = r.Kinesis.Data
		case events.KafkaRecord:
			text = queue.Value(r)
		}
		if err := decode(text, &body); err != nil {
			var none Out
			return none, idempotent.NotExecuted(err)
		}
		return h(ctx, body, record)
	}
}

// BodyError says that the body of a record is none of the handler's. It quotes nothing of the body.
type BodyError struct {
	// Type is that of the Go value which the body should have become.
	Type reflect.Type
	// Offset is where the body goes wrong, in bytes from its beginning, 0 if nobody knows.
	Offset int64
	// Reason says what is wrong, for people. Its wording may change.
	Reason string
}

func (e *BodyError) Error() string {
	text := fmt.Sprintf("batch: the body of the record does not decode into %v: %s", e.Type, e.Reason)
	if e.Offset > 0 {
		text += fmt.Sprintf(" (byte %d)", e.Offset)
	}
	return text
}

func decode[T any](body []byte, into *T) error {
	wrong := &BodyError{Type: reflect.TypeFor[T]()}
	text := bytes.TrimSpace(body)
	var err error
	if string(text) != "null" { // a decoder of the user's own never sees it
		err = json.Unmarshal(body, into)
	}
	// The texts of these errors quote the body.
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	unfit, isUnfit := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case len(text) == 0:
		wrong.Reason = "it is empty"
	case string(text) == "null":
		wrong.Reason = "it is null"
	case err == nil:
		return nil
	case isSyntax:
		wrong.Reason, wrong.Offset = "it is no JSON", syntax.Offset
	case isUnfit:
		wrong.Reason, wrong.Offset = fmt.Sprintf("a value in it does not fit into %v", unfit.Type), unfit.Offset
	default:
		wrong.Reason = fmt.Sprintf("a decoder refused it with a %T", err)
	}
	return wrong
}
