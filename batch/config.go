package batch

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
)

// Config adjusts [SQS], [Kinesis], [DynamoDB] and [Kafka]. Its zero value has the defaults. R is
// the type of the records.
type Config[R any] struct {
	// Concurrency is how many groups of records are worked on at once. Default 10. With 1 the
	// records run in the order of the event. The handler has to be safe for concurrent use, unless
	// it is 1.
	Concurrency int
	// Reserve is with how much time left before the deadline of the invocation no record is begun
	// any more. Default one second. No record is begun either if less time is left than the
	// slowest one of the batch took. Those that were not begun fail, and so come again.
	//
	// The reserve is less than the timeout of the function, or each of its invocations fails. If
	// some of your records take long, set it to the time that they take: a function that runs into
	// its timeout lets the whole batch come again.
	Reserve time.Duration
	// Terminal gets each record with a final failure before it is acknowledged, to keep it
	// somewhere: a table, a queue, a topic. The error is that of the handler, or an
	// [*idempotent.ReplayedError] with its text. If the function returns an error, or panics, the
	// record fails, and comes again. So it may get a record more than once. It is called
	// concurrently. Its context is that of the invocation. Without it final failures are
	// acknowledged and only reported.
	Terminal func(ctx context.Context, record R, err error) error
	// Poison gets each record which no repetition can help, before it is acknowledged. The error
	// says why: it is [idempotent.ErrMissingKey], [idempotent.ErrInvalidKey],
	// [idempotent.ErrMismatch], [idempotent.ErrUnreadable], [idempotent.ErrUnknownOutcome], or a
	// [*BodyError]. The rest is as in Terminal.
	//
	// Without it such records fail: a queue hands them over until it moves them to its dead-letter
	// queue, and a stream until its mapping gives them up. A record whose outcome is unknown can
	// still be settled; if you want it to come again meanwhile, return the error.
	Poison func(ctx context.Context, record R, err error) error
	// Visibility, of an SQS queue alone, says when messages that cannot be executed now come again:
	// package batchsqs has one. It is called for a message that another invocation executes, with
	// the rest of the lease of that execution, which is more than zero. On a FIFO queue the
	// messages behind it in its group are with it, because none of them comes before it. Without
	// the function they come again after the visibility timeout of the queue. An error is reported,
	// and changes nothing else.
	Visibility func(ctx context.Context, messages []events.SQSMessage, after time.Duration) error
	// Unordered, of Kafka alone, makes a topic a queue: each record is a group of its own, so that
	// nothing waits for a record before it.
	Unordered bool
	// Observers get a [report.Batch] at the end of each invocation, also of one that fails. A panic
	// of one changes nothing, and is logged with package slog. Package observe has one for metrics
	// and one for a log. What became of each single record the observer of the handler hears, see
	// [idempotent.WithObserver].
	Observers []func(context.Context, report.Batch)
	// Trace is called at the start of each invocation, with the operation, the source and the
	// number of records. The records run under the context that it returns, and the function that
	// it returns gets the report at the end, after the observers. Neither may panic. Package
	// observe/otel has one for OpenTelemetry.
	Trace func(context.Context, report.Batch) (context.Context, func(report.Batch))
}

// configOf returns the configuration of a function, and adds what is wrong with it.
func configOf[R any](p *setup.Problems, source string, given []Config[R]) Config[R] {
	c := setup.One(p, given)
	p.Addf(c.Concurrency < 0, "Concurrency: %d is negative", c.Concurrency)
	p.Addf(c.Reserve < 0, "Reserve: %v is negative", c.Reserve)
	p.Addf(c.Visibility != nil && source != queue.SQS, "Visibility: a stream has no visibility timeouts")
	p.Addf(c.Unordered && source != queue.Kafka, "Unordered: it is for Kafka")
	for i, observe := range c.Observers {
		p.Addf(observe == nil, "Observers: function %d is nil", i+1)
	}
	c.Concurrency, c.Reserve = cmp.Or(c.Concurrency, 10), cmp.Or(c.Reserve, time.Second)
	return c
}
