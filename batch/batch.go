// Package batch turns a wrapped handler of one record into the Lambda function of a queue or a
// stream.
//
//	handler := idempotent.Wrap(batch.JSON(ship), store, idempotent.WithOperation("ship"))
//	lambda.Start(batch.SQS(handler))
//
//	func ship(ctx context.Context, order Order, message events.SQSMessage) (Shipment, error)
//
// SQS, Kinesis, DynamoDB Streams and Kafka deliver at least once, and many records at a time. The
// functions of this package hand each record to the handler, which executes it once. They tell
// Lambda which records have failed, and only those come again. The event source mapping needs the
// function response type ReportBatchItemFailures: without it Lambda takes each answer for a
// success, and failures are lost. docs/batches.md explains its other settings.
//
// # What becomes of a record
//
//   - A record that succeeds, or is replayed, is acknowledged: it does not come again.
//   - A final failure, see [idempotent.Terminal], is acknowledged, too, once it is stored.
//     Config.Terminal gets it first.
//   - Poison is a record that no repetition of the handler can help: its key is missing, or was
//     used for another record, its body does not decode, its outcome is unknown until somebody
//     settles it, or its stored record cannot be read. It fails, unless Config.Poison takes it.
//   - A record that another invocation executes fails in a queue, and Config.Visibility lets it
//     come again when the lease of that execution has ended. A stream cannot set a record aside:
//     there the batch waits for the other execution, as far as its time allows.
//   - Every other error fails. So does a panic, which is that of one record: the others go on.
//
// # Order
//
// A group is what has to stay in order: the messages of a FIFO queue with one group id, the records
// of a Kinesis stream with one partition key, the changes of one DynamoDB item, a partition of
// Kafka. The records of a group run one after the other. After the first failure the rest of its
// group is not begun, and fails with it. Each message of a standard queue is a group of its own.
// Groups run at the same time, as many as Config.Concurrency says. Copies of a record in one batch
// run one after the other, too, so that the second one is replayed.
//
// # Answers
//
// The answer for a queue has the ids of all messages that failed, and that for Kafka the partitions
// and offsets of all records. That for a stream has the lowest sequence number that failed, from
// which on Lambda repeats; what had succeeded behind it is replayed then. An answer never has an
// empty identifier, which Lambda takes for the failure of the whole batch. The rules are those of
//
//   - https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
//   - https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html
//   - https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
//   - https://docs.aws.amazon.com/lambda/latest/dg/kafka-retry-configurations.html
package batch

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/report"
)

// SQS returns the function of an SQS queue, standard or FIFO, for lambda.Start. The handler is one
// of a single message, which [idempotent.Wrap] has made. Without an option for the key that is the
// message id; on a FIFO queue it is the deduplication id that the producer gave, within its group.
//
// The function returns an error only if it could not begin: a message has no id, or there is too
// little time. Then Lambda repeats the whole batch. It is safe for concurrent use. SQS itself
// panics with a [*store.ConfigError] that names every problem of the configuration.
func SQS[Out any](
	handler *idempotent.Handler[events.SQSMessage, Out], config ...Config[events.SQSMessage],
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	r := newRunner("batch.SQS", queue.SQS, handler, config)
	return func(ctx context.Context, event events.SQSEvent) (answer events.SQSEventResponse, err error) {
		again, err := r.run(ctx, queue.Messages(event))
		answer.BatchItemFailures = each(again, func(m queue.Record[events.SQSMessage]) events.SQSBatchItemFailure {
			return events.SQSBatchItemFailure{ItemIdentifier: m.ID}
		})
		return answer, err
	}
}

// Kinesis is [SQS] for the records of a Kinesis stream. Without an option for the key that is the
// event id: shard and sequence number. Tumbling windows are not supported.
func Kinesis[Out any](
	handler *idempotent.Handler[events.KinesisEventRecord, Out], config ...Config[events.KinesisEventRecord],
) func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error) {
	r := newRunner("batch.Kinesis", queue.Kinesis, handler, config)
	return func(ctx context.Context, event events.KinesisEvent) (answer events.KinesisEventResponse, err error) {
		again, err := r.run(ctx, queue.OnShard(event))
		answer.BatchItemFailures = each(queue.Lowest(again), func(number string) events.KinesisBatchItemFailure {
			return events.KinesisBatchItemFailure{ItemIdentifier: number}
		})
		return answer, err
	}
}

// DynamoDB is [SQS] for the changes in the stream of a DynamoDB table. Without an option for the
// key that is the event id. Tumbling windows are not supported.
func DynamoDB[Out any](
	handler *idempotent.Handler[events.DynamoDBEventRecord, Out], config ...Config[events.DynamoDBEventRecord],
) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	r := newRunner("batch.DynamoDB", queue.DynamoDB, handler, config)
	return func(ctx context.Context, event events.DynamoDBEvent) (answer events.DynamoDBEventResponse, err error) {
		again, err := r.run(ctx, queue.Changes(event))
		answer.BatchItemFailures = each(queue.Lowest(again), func(number string) events.DynamoDBBatchItemFailure {
			return events.DynamoDBBatchItemFailure{ItemIdentifier: number}
		})
		return answer, err
	}
}

// Kafka is [SQS] for the records of topics of Kafka, on Amazon MSK or on a cluster of one's own.
// Without an option for the key that is topic, partition and offset. The record does not tell its
// cluster: handlers of two clusters have two operations.
func Kafka[Out any](
	handler *idempotent.Handler[events.KafkaRecord, Out], config ...Config[events.KafkaRecord],
) func(context.Context, events.KafkaEvent) (KafkaEventResponse, error) {
	r := newRunner("batch.Kafka", queue.Kafka, handler, config)
	return func(ctx context.Context, event events.KafkaEvent) (answer KafkaEventResponse, err error) {
		again, err := r.run(ctx, queue.InPartitions(event, r.c.Unordered))
		answer.BatchItemFailures = each(again, func(one queue.Record[events.KafkaRecord]) KafkaBatchItemFailure {
			at := KafkaItemIdentifier{Partition: one.Partition, Offset: one.Event.Offset}
			return KafkaBatchItemFailure{ItemIdentifier: at}
		})
		return answer, err
	}
}

// KafkaEventResponse is the answer for an event of Kafka, which package events has not.
type KafkaEventResponse struct {
	BatchItemFailures []KafkaBatchItemFailure `json:"batchItemFailures"`
}

// KafkaBatchItemFailure is a record that comes again.
type KafkaBatchItemFailure struct {
	ItemIdentifier KafkaItemIdentifier `json:"itemIdentifier"`
}

// KafkaItemIdentifier says where a record stands.
type KafkaItemIdentifier struct {
	// Partition is the topic and the number, with a hyphen between them, as the event has it.
	Partition string `json:"partition"`
	Offset    int64  `json:"offset"`
}

// each makes an identifier of each item, as a list in JSON also without any.
func each[T, Identifier any](all []T, identify func(T) Identifier) []Identifier {
	identifiers := make([]Identifier, len(all))
	for i, one := range all {
		identifiers[i] = identify(one)
	}
	return identifiers
}

// Config adjusts [SQS], [Kinesis], [DynamoDB] and [Kafka]. Its zero value has the defaults. R is
// the type of the records.
type Config[R any] struct {
	// Concurrency is how many groups of records are worked on at once. Default 10. With 1 the
	// records run in the order of the event, and the handler need not be safe for concurrent use.
	Concurrency int
	// Reserve is the time that has to be left of the invocation to begin a record. Default one
	// second. If the slowest record took longer, that counts. What was not begun comes again.
	//
	// If some of your records take long, set it to the time that they take: a function that runs
	// into its timeout lets the whole batch come again. It is less than that timeout.
	Reserve time.Duration
	// Terminal gets each record with a final failure before it is acknowledged, to keep it
	// somewhere: a table, a queue, a topic. The error is that of the handler, or an
	// [*idempotent.ReplayedError] with its text. If the function returns an error, or panics, the
	// record comes again; so it may get one more than once. It is called concurrently, with the
	// context of the invocation. Without it final failures are acknowledged and only reported.
	Terminal func(ctx context.Context, record R, err error) error
	// Poison is as Terminal, for records which no repetition can help. The error says why: it is
	// [idempotent.ErrMissingKey], [idempotent.ErrInvalidKey], [idempotent.ErrMismatch],
	// [idempotent.ErrUnreadable], [idempotent.ErrUnknownOutcome], or a [*BodyError]. A record whose
	// outcome is unknown can still be settled: to let it come again meanwhile, return the error.
	//
	// Without Poison such records fail: a queue hands them over until it moves them to its
	// dead-letter queue, and a stream until its mapping gives them up.
	Poison func(ctx context.Context, record R, err error) error
	// Visibility, of an SQS queue alone, says when messages that another invocation executes come
	// again: package batchsqs has one. It gets the rest of the lease of that execution, which is
	// more than zero, and on a FIFO queue also the messages behind it in its group, because none of
	// them comes before it. Without the function they come again after the visibility timeout of
	// the queue. An error is reported, and changes nothing else.
	Visibility func(ctx context.Context, messages []events.SQSMessage, after time.Duration) error
	// Unordered, of Kafka alone, makes a topic a queue: each record is a group of its own, so that
	// nothing waits for a record before it.
	Unordered bool
	// Observers get a [report.Batch] at the end of each invocation, also of one that fails. A panic
	// of one changes nothing, and is logged with package slog. Package observe has one for metrics
	// and one for a log. The observer of the handler hears of each record.
	Observers []func(context.Context, report.Batch)
	// Trace is called at the start of each invocation, with the operation, the source and the
	// number of records. The records run under the context that it returns, and the function that
	// it returns gets the report at the end. Neither may panic. Package observe/otel has one.
	Trace func(context.Context, report.Batch) (context.Context, func(report.Batch))
}
