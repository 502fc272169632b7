// Package batch turns a wrapped handler of one record into the Lambda function of a queue or a stream.
//
//	handler := idempotent.Wrap(batch.JSON(ship), store, idempotent.WithOperation("ship"))
//	lambda.Start(batch.SQS(handler))
//
//	func ship(ctx context.Context, order Order, message events.SQSMessage) (Shipment, error)
//
// SQS, Kinesis and DynamoDB Streams deliver at least once, and many records at a time. The functions of this package hand each record to
// the handler, which executes it once. They tell Lambda which records have failed, and only those come again. The event source mapping needs the
// function response type ReportBatchItemFailures: without it Lambda takes each answer for a success, and failures are lost.
//
// # What becomes of a record
//
//   - A record whose handler returns, and one that is replayed, is acknowledged: it does not come again.
//   - A final failure, see [idempotent.Terminal], is acknowledged, too: no repetition changes it. The function of [WithTerminal] gets it first.
//   - Poison is a record that no repetition of the handler can help: its key is missing, or was used for another record, its body does not
//     decode, its outcome is unknown until somebody settles it, or its stored record cannot be read. It fails, unless the function of
//     [WithPoison] takes it.
//   - A record that another invocation executes at the moment fails in a queue, and [WithVisibility] lets it come again when the lease of that
//     execution has ended. A stream cannot set a record aside: there the batch waits for the end of the lease, as far as its time allows.
//   - Every other error fails. So does a panic, which is that of one record: the others go on.
//
// # Order
//
// A group is what has to stay in order: the messages of a FIFO queue with one group id, the records of a Kinesis stream with one partition key,
// the changes of one DynamoDB item. The records of a group run one after the other. After the first failure the rest of its group is not begun,
// and fails with it. Each message of a standard queue is a group of its own. Groups run at the same time, see [WithConcurrency].
//
// Copies of a record in one batch run one after the other, too, so that the second one is replayed.
//
// # Answers
//
// The answer for a queue has the ids of all messages that failed. That for a stream has the lowest sequence number that failed, from which on
// Lambda repeats; what had succeeded behind it is replayed then. An answer never has an empty identifier, which Lambda takes for the failure of the
// whole batch.
//
// The rules are those of https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html,
// https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html. docs/batches.md explains the settings that belong to
// them.
package batch

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
)

// SQS returns the function of an SQS queue, standard or FIFO, for lambda.Start. The handler is one of a single message, which
// [idempotent.Wrap] has made. Without an option for the key that is the message id; on a FIFO queue it is the deduplication id that the producer
// gave, within its group.
//
// The function returns an error only if it could not begin: a message has no id, or there is too little time. Then Lambda repeats the
// whole batch. It is safe for concurrent use.
//
// SQS panics with a [*store.ConfigError] that names every problem of the configuration.
func SQS[Out any](handler *idempotent.Handler[events.SQSMessage, Out], opts ...Option) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	r := newRunner("batch.SQS", sourceSQS, handler, opts)
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}} // in JSON a list, also without any
		failed, err := r.run(ctx, messagesOf(event))
		if err != nil {
			return events.SQSEventResponse{}, err
		}
		for _, id := range failed {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
		return answer, nil
	}
}

// Kinesis returns the function of a Kinesis stream, for lambda.Start. The handler is one of a single record, which [idempotent.Wrap] has made.
// Without an option for the key that is the event id: shard and sequence number. See [SQS] for errors and panics. Tumbling windows are not
// supported.
func Kinesis[Out any](handler *idempotent.Handler[events.KinesisEventRecord, Out], opts ...Option) func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error) {
	r := newRunner("batch.Kinesis", sourceKinesis, handler, opts)
	return func(ctx context.Context, event events.KinesisEvent) (events.KinesisEventResponse, error) {
		answer := events.KinesisEventResponse{BatchItemFailures: []events.KinesisBatchItemFailure{}}
		failed, err := r.run(ctx, kinesisRecordsOf(event))
		if err != nil {
			return events.KinesisEventResponse{}, err
		}
		for _, number := range lowest(failed) {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: number})
		}
		return answer, nil
	}
}

// DynamoDB returns the function of a stream of a DynamoDB table, for lambda.Start. The handler is one of a single change, which [idempotent.Wrap]
// has made. Without an option for the key that is the event id. See [SQS] for errors and panics. Tumbling windows are not supported.
func DynamoDB[Out any](handler *idempotent.Handler[events.DynamoDBEventRecord, Out], opts ...Option) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	r := newRunner("batch.DynamoDB", sourceDynamoDB, handler, opts)
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		answer := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
		failed, err := r.run(ctx, changesOf(event))
		if err != nil {
			return events.DynamoDBEventResponse{}, err
		}
		for _, number := range lowest(failed) {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: number})
		}
		return answer, nil
	}
}
