// Package queuepump hands the messages of an SQS queue to a function, on this machine, as the event
// source mapping of AWS Lambda does: for tests against a server that speaks the protocol of SQS.
//
// A [Pump] receives messages, invokes the function with a batch of them, for several batches at
// once, and deletes what the function has handled. What it has not handled stays in the queue. When
// that comes again, how often it was received, and when it is moved to a dead-letter queue, the
// queue decides.
//
// What differs from AWS: a batch has what one receive gives; a queue that has nothing is asked
// again after a pause; there is no filter, no window, no throttling, no scaling, and no back-off
// after errors.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html.
package queuepump

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Pump is the event source mapping of one queue and one function. Set its fields before [Pump.Run];
// they have the names of Lambda's parameters where there is one.
type Pump struct {
	Client *sqs.Client
	// QueueURL is where the queue is, QueueARN what events call it. The suffix .fifo tells its
	// kind.
	QueueURL, QueueARN string
	// Invoke invokes the function with an event. An error says that the function has failed. It is
	// called for several batches at once.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)
	// BatchSize is how many messages an event has at most, not more than ten.
	BatchSize int32
	// ReportBatchItemFailures: the response of the function is looked at.
	ReportBatchItemFailures bool
	// MaximumConcurrency is how many invocations there are at once.
	MaximumConcurrency int
	// Poll is the time between two looks at a queue that has no messages.
	Poll time.Duration

	mu      sync.Mutex
	running int
	// taken are the groups of a FIFO queue that are in an event now.
	taken map[string]bool
	// ended is why the pump runs no more.
	ended error
}

// Run pumps until ctx ends, and returns nil then. It returns an error if the queue cannot be used.
// It waits for invocations that have begun. A pump runs once.
func (p *Pump) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	p.change(func() { p.ended = cmp.Or(err, errors.New("queuepump: the pump has ended")) })
	return err
}

func (p *Pump) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	places := make(chan struct{}, p.MaximumConcurrency)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		batch, err := p.receive(ctx)
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

func (p *Pump) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

const group = "MessageGroupId"

// receive waits for the next batch. The queue's own visibility timeout counts, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html.
//
// Messages of a group of a FIFO queue that is being handled are left. There are never more
// invocations at once than groups, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html. The queue locks the
// group, too, but only until its visibility timeout is over.
func (p *Pump) receive(ctx context.Context) (batch []types.Message, err error) {
	for {
		out, err := p.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(p.QueueURL), MaxNumberOfMessages: p.BatchSize, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			return nil, fmt.Errorf("queuepump: receive: %w", err)
		}
		p.change(func() {
			batch = slices.DeleteFunc(out.Messages, func(m types.Message) bool { return p.taken[m.Attributes[group]] })
			p.mark(batch, true)
			if len(batch) > 0 {
				p.running++
			}
		})
		if len(batch) > 0 {
			return batch, nil
		}
		if err := p.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// mark takes the groups of messages, or gives them back.
func (p *Pump) mark(batch []types.Message, taken bool) {
	if p.taken == nil {
		p.taken = make(map[string]bool)
	}
	for _, m := range batch {
		if name := m.Attributes[group]; name != "" && strings.HasSuffix(p.QueueARN, ".fifo") {
			p.taken[name] = taken
		}
	}
}

func (p *Pump) pause(ctx context.Context) error {
	timer := time.NewTimer(p.Poll)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// handle hands a batch over once and deletes what is handled. If the function fails, nothing is
// deleted, and the messages come again after the visibility timeout, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html.
func (p *Pump) handle(ctx context.Context, batch []types.Message) error {
	defer p.change(func() { p.running-- })
	payload, err := p.payloadOf(batch)
	if err != nil {
		return err
	}
	response, err := p.Invoke(ctx, payload)
	p.change(func() { p.mark(batch, false) }) // the queue locks them until they are deleted
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // what was not waited for is not handled
	case err != nil:
		return nil // the messages come again
	}
	if p.ReportBatchItemFailures {
		batch = handled(batch, response)
	}
	if len(batch) == 0 {
		return nil
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(batch))
	for i, m := range batch {
		entries[i] = types.DeleteMessageBatchRequestEntry{
			Id:            aws.String(strconv.Itoa(i)),
			ReceiptHandle: m.ReceiptHandle,
		}
	}
	// One that the queue does not let go, because its visibility timeout was over before, comes
	// again.
	if _, err := p.Client.DeleteMessageBatch(ctx,
		&sqs.DeleteMessageBatchInput{QueueUrl: aws.String(p.QueueURL), Entries: entries}); err != nil {
		return fmt.Errorf("queuepump: delete: %w", err)
	}
	return nil
}

// handled are the messages of a batch that a response does not name, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting.
// An empty response is a complete success. One that is no JSON, or names what is not in the batch,
// is a complete failure.
func handled(batch []types.Message, response []byte) []types.Message {
	var r events.SQSEventResponse
	if len(bytes.TrimSpace(response)) == 0 {
		return batch
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return nil
	}
	failed := make(map[string]bool)
	for _, failure := range r.BatchItemFailures {
		failed[failure.ItemIdentifier] = true
	}
	left := len(batch) - len(failed)
	batch = slices.DeleteFunc(slices.Clone(batch), func(m types.Message) bool { return failed[*m.MessageId] })
	if len(batch) != left {
		return nil
	}
	return batch
}

// payloadOf is the event that hands messages over, see
// https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html#example-standard-queue-message-event.
func (p *Pump) payloadOf(batch []types.Message) ([]byte, error) {
	const region = 3 // of an ARN, see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
	var event events.SQSEvent
	for _, m := range batch {
		one := events.SQSMessage{
			MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
			Md5OfBody:              aws.ToString(m.MD5OfBody),
			Md5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes), Attributes: m.Attributes,
			EventSourceARN: p.QueueARN,
			EventSource:    "aws:sqs", AWSRegion: strings.Split(p.QueueARN, ":")[region],
			MessageAttributes: map[string]events.SQSMessageAttribute{},
		}
		for name, v := range m.MessageAttributes {
			one.MessageAttributes[name] = events.SQSMessageAttribute{
				StringValue: v.StringValue, BinaryValue: v.BinaryValue, DataType: aws.ToString(v.DataType),
				StringListValues: []string{}, BinaryListValues: [][]byte{},
			}
		}
		event.Records = append(event.Records, one)
	}
	return json.Marshal(event)
}

// enough is how often in a row a queue is seen empty before it is.
const enough = 2

// Idle waits until the queue is empty and no invocation goes on: all that was in it is handled, or
// moved to a dead-letter queue. It looks twice: a message whose visibility timeout ends while a
// server counts is in no number.
func (p *Pump) Idle(ctx context.Context) error {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
	for empty := 0; empty < enough; empty++ {
		out, err := p.Client.GetQueueAttributes(ctx,
			&sqs.GetQueueAttributesInput{QueueUrl: aws.String(p.QueueURL), AttributeNames: names})
		if err != nil {
			return fmt.Errorf("queuepump: count the messages: %w", err)
		}
		for _, name := range names {
			if out.Attributes[string(name)] != "0" {
				empty = -1
			}
		}
		var ended error
		p.change(func() {
			if ended = p.ended; p.running > 0 {
				empty = -1
			}
		})
		if err := cmp.Or(ended, p.pause(ctx)); err != nil {
			return fmt.Errorf("queuepump: not everything is handled: %w", err)
		}
	}
	return nil
}
