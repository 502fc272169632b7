// Package queuepump hands the messages of an SQS queue to a function, on this machine, as the event source mapping of AWS Lambda does: for
// tests against a server that speaks the protocol of SQS.
//
// A [Pump] receives messages, invokes the function with a batch of them, for several batches at once, and deletes what the function has
// handled. What it has not handled stays in the queue. When that comes again, how often it was received, and when it is moved to a
// dead-letter queue, the queue decides.
//
// What differs from AWS: one receive goes on at a time; a queue that has nothing is asked again after a pause, not by long polling; there is
// no filter, no throttling, no scaling, and no back-off after errors.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html.
package queuepump

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// The defaults of a [Pump].
const (
	// DefaultBatchSize is documented at https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html.
	DefaultBatchSize = 10
	// DefaultConcurrency is how many batches Lambda begins with, see
	// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html.
	DefaultConcurrency = 5
	// DefaultPoll is decided here.
	DefaultPoll = 100 * time.Millisecond
)

// The limits of the parameters, see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html and, of concurrency,
// https://docs.aws.amazon.com/lambda/latest/api/API_ScalingConfig.html.
const (
	maxBatchSize                   = 10_000
	maxBatchSizeFIFO               = 10
	minConcurrency, maxConcurrency = 2, 1000
	// withoutWindow is how large a batch can be without a window, see
	// https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html.
	withoutWindow = 10
)

// Client is what a pump needs of a client of SQS. [*sqs.Client] implements it.
type Client interface {
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, optFns ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, optFns ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, optFns ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Pump is the event source mapping of one queue and one function. Set its fields before [Pump.Run]; they have the names of Lambda's
// parameters where there is one.
type Pump struct {
	Client Client
	// QueueURL is where the queue is, QueueARN what events call it. The suffix .fifo tells its kind.
	QueueURL, QueueARN string
	// Invoke invokes the function with an event. An error says that the function has failed. It is called for several batches at once.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)

	// BatchSize is how many messages an event has at most, [DefaultBatchSize] if 0.
	BatchSize int
	// MaximumBatchingWindow is for how long messages are gathered until there are BatchSize of them. If it is 0, an event has what one receive
	// gives. A FIFO queue has none.
	MaximumBatchingWindow time.Duration
	// ReportBatchItemFailures: the response of the function is looked at.
	ReportBatchItemFailures bool
	// MaximumConcurrency is how many invocations there are at once, [DefaultConcurrency] if 0.
	MaximumConcurrency int

	// Poll is the time between two looks at a queue that has no messages, [DefaultPoll] if 0.
	Poll time.Duration

	progress progress
	groups   groups
	// held is what was received and had no room in the last event. It belongs to the goroutine that receives.
	held []message
}

// Run pumps until ctx ends, and returns nil then. It returns an error if the pump is not set up correctly, or if the queue cannot be used.
// It waits for invocations that have begun. A pump runs once.
func (p *Pump) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	p.progress.end(err)
	return err
}

func (p *Pump) run(ctx context.Context) error {
	if err := p.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	places := make(chan struct{}, cmp.Or(p.MaximumConcurrency, DefaultConcurrency))
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		batch, err := p.gather(ctx)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		running.Go(func() {
			defer func() { <-places }()
			if err := p.handle(ctx, batch); err != nil {
				cancel(err)
			}
		})
	}
}

// check finds what is wrong with the fields.
func (p *Pump) check() error {
	var errs []error
	if p.Client == nil || p.QueueURL == "" || p.QueueARN == "" || p.Invoke == nil {
		errs = append(errs, errors.New("Client, QueueURL, QueueARN and Invoke are needed"))
	}
	limit := maxBatchSize
	if p.isFIFO() {
		limit = maxBatchSizeFIFO
	}
	if p.BatchSize < 0 || p.BatchSize > limit {
		errs = append(errs, fmt.Errorf("BatchSize: %d is not one of 1 to %d", p.BatchSize, limit))
	}
	if p.BatchSize > withoutWindow && p.MaximumBatchingWindow < time.Second {
		errs = append(errs, fmt.Errorf("MaximumBatchingWindow: batches of more than %d need one of a second", withoutWindow))
	}
	if p.isFIFO() && p.MaximumBatchingWindow != 0 {
		errs = append(errs, errors.New("MaximumBatchingWindow: a FIFO queue has none"))
	}
	if n := p.MaximumConcurrency; n != 0 && (n < minConcurrency || n > maxConcurrency) {
		errs = append(errs, fmt.Errorf("MaximumConcurrency: %d is not one of %d to %d", n, minConcurrency, maxConcurrency))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("queuepump: %w", err)
	}
	return nil
}

func (p *Pump) isFIFO() bool        { return strings.HasSuffix(p.QueueARN, ".fifo") }
func (p *Pump) batchSize() int      { return cmp.Or(p.BatchSize, DefaultBatchSize) }
func (p *Pump) poll() time.Duration { return cmp.Or(p.Poll, DefaultPoll) }
