package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/report"
)

// The defaults of a batch.
const (
	DefaultConcurrency = 10
	DefaultReserve     = time.Second
)

// Option adjusts [SQS], [Kinesis] and [DynamoDB].
type Option func(*config)

type config struct {
	concurrency int
	reserve     time.Duration
	// terminal and poison are functions of the type of the records; nil for none.
	terminal, poison any
	visibility       func(ctx context.Context, messages []events.SQSMessage, after time.Duration) error
	observers        []func(context.Context, report.Batch)
	problems         []string
}

func (c *config) problemf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// WithConcurrency sets how many groups of records are worked on at once, from 1 on. Default [DefaultConcurrency]. With 1 the records run in the
// order of the event. The handler has to be safe for concurrent use, unless it is 1.
func WithConcurrency(n int) Option {
	return func(c *config) {
		c.concurrency = n
		if n < 1 {
			c.problemf("WithConcurrency: %d is less than 1", n)
		}
	}
}

// WithReserve sets with how much time left before the deadline of the invocation no record is begun any more. Default [DefaultReserve]. No record
// is begun either if less time is left than the slowest one of the batch took. Those that were not begun fail, and so come again.
//
// The reserve is less than the timeout of the function, or each of its invocations fails. If some of your records take long, set it to the time
// that they take: a function that runs into its timeout lets the whole batch come again.
func WithReserve(d time.Duration) Option {
	return func(c *config) {
		c.reserve = d
		if d <= 0 {
			c.problemf("WithReserve: %v is not positive", d)
		}
	}
}

// WithTerminal sets a function that gets each record with a final failure before it is acknowledged, to keep it somewhere: a table, a queue, a
// topic. The error is that of the handler, or an [*idempotent.ReplayedError] with its text. If the function returns an error, or panics, the record
// fails, and comes again. So it may get a record more than once. It is called concurrently. Its context is that of the invocation. Without it
// final failures are acknowledged and only reported.
//
// R is the type of the records: [events.SQSMessage], [events.KinesisEventRecord] or [events.DynamoDBEventRecord].
func WithTerminal[R any](take func(ctx context.Context, record R, err error) error) Option {
	return func(c *config) {
		if c.terminal != nil {
			c.problemf("WithTerminal: it is there twice")
		}
		c.terminal = take
		if take == nil {
			c.problemf("WithTerminal: the function is nil")
		}
	}
}

// WithPoison sets a function that gets each record which no repetition can help, before it is acknowledged. The error says why: it is
// [idempotent.ErrMissingKey], [idempotent.ErrInvalidKey], [idempotent.ErrMismatch], [idempotent.ErrUnreadable], [idempotent.ErrUnknownOutcome], or a
// [*BodyError]. If the function returns an error, or panics, the record fails, and comes again. The rest is as in [WithTerminal].
//
// Without it such records fail: a queue hands them over until it moves them to its dead-letter queue, and a stream until its mapping gives them
// up. A record whose outcome is unknown can still be settled; if you want it to come again meanwhile, return the error.
func WithPoison[R any](take func(ctx context.Context, record R, err error) error) Option {
	return func(c *config) {
		if c.poison != nil {
			c.problemf("WithPoison: it is there twice")
		}
		c.poison = take
		if take == nil {
			c.problemf("WithPoison: the function is nil")
		}
	}
}

// WithVisibility sets the function that says when messages of a queue that cannot be executed now come again: package batchsqs has one. It is called
// for a message that another invocation executes, with the rest of the lease of that execution, which is more than zero. On a FIFO queue the
// messages behind it in its group are with it, because none of them comes before it. Without the function they come again after the visibility
// timeout of the queue.
//
// An error is reported, and changes nothing else. On [Kinesis] and [DynamoDB] this option is a configuration error.
func WithVisibility(set func(ctx context.Context, messages []events.SQSMessage, after time.Duration) error) Option {
	return func(c *config) {
		if c.visibility != nil {
			c.problemf("WithVisibility: it is there twice")
		}
		c.visibility = set
		if set == nil {
			c.problemf("WithVisibility: the function is nil")
		}
	}
}

// WithObserver adds a function that gets a [report.Batch] at the end of each invocation, also of one that fails. A panic of it changes nothing, and is logged with
// package slog. Package observe
// has one for metrics and one for a log. What became of each single record the observer of the handler hears, see [idempotent.WithObserver].
func WithObserver(observer func(context.Context, report.Batch)) Option {
	return func(c *config) {
		c.observers = append(c.observers, observer)
		if observer == nil {
			c.problemf("WithObserver: the function is nil")
		}
	}
}
