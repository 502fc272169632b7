package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/go-idempotent/idempotent/report"
)

// Stream delivers the messages in an event of the table's stream: hand it to lambda.Start. The
// stream has new images, and the event source mapping the function response type
// ReportBatchItemFailures and the [StreamFilter].
//
// A message whose delivery fails is reported, so that Lambda repeats the event from it on, five
// times. Then it is put off to [Relay.Drain], and the messages behind it wait no longer. Marks of
// relays are skipped, and so is what is no message, which is counted.
//
// Only an event of another table is an error, and less than two seconds to begin with.
func (r *Relay) Stream(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	// in JSON a list, also without any
	answer := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	_, err := r.run(ctx, "stream", func(ctx context.Context, t *tally) error {
		entries, numbers, err := r.entriesOf(event, &t.r)
		if len(entries) > 0 && t.relay.Late(ctx) {
			err = errTooShort
		}
		if err != nil {
			return err
		}
		for i, o := range t.relay.Stream(ctx, entries) {
			if o.Again() {
				answer.BatchItemFailures = append(answer.BatchItemFailures,
					events.DynamoDBBatchItemFailure{ItemIdentifier: numbers[i]})
			}
		}
		return nil
	})
	return answer, err
}

func (r *Relay) isOf(stream string) bool {
	if strings.HasPrefix(r.box.table, "arn:") {
		return strings.HasPrefix(stream, r.box.table+"/")
	}
	return tableOf(stream) == r.box.table
}

// errTooShort: Lambda gives each invocation the whole timeout, so there is no time in any.
var errTooShort = errors.New(
	"outbox: there are less than two seconds to begin with, in which nothing can be delivered and marked: raise the " +
		"timeout of the function")

func (r *Relay) entriesOf(event events.DynamoDBEvent, report *report.Relay) (entries []entry,
	numbers []string, err error,
) {
	for i, record := range event.Records {
		if source := record.EventSourceArn; source != "" && !r.isOf(source) {
			return nil, nil, fmt.Errorf(
				"outbox: record %d of the event is of the stream %q, and this relay is of the table %q: look at the event "+
					"source mapping of the function", i, source, r.box.table)
		}
		image := record.Change.NewImage
		_, done := image["done_at"]
		_, due := image[attributeDue]
		if record.EventName == string(events.DynamoDBOperationTypeRemove) || done && !due {
			report.Skipped++
			continue
		}
		text, _ := json.Marshal(image) //nolint:errchkjson // what it cannot write cannot be read, either
		it, _ := attributevalue.UnmarshalMapJSON(text)
		e, is := pendingOf(it)
		switch {
		case !is || record.Change.SequenceNumber == "":
			report.Foreign++
		case e.Tries > 0:
			report.Skipped++
		default:
			entries, numbers = append(entries, e), append(numbers, record.Change.SequenceNumber)
		}
	}
	return entries, numbers, nil
}
