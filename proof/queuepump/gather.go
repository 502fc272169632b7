package queuepump

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// maxReceive is what one receive gives, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html.
const maxReceive = 10

// gather waits for messages and returns the next batch. It is complete when there are enough messages, when the payload is as large as it
// may be, or when the window is over, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html#invocation-eventsourcemapping-batching. Here the window
// begins with the first message.
//
// The groups of the messages are taken until the batch is handled.
func (p *Pump) gather(ctx context.Context) ([]message, error) {
	var began time.Time
	for {
		if err := p.receive(ctx); err != nil {
			return nil, err
		}
		if len(p.held) > 0 && began.IsZero() {
			began = time.Now()
		}
		n, full := cut(p.held, p.batchSize())
		if n > 0 && (full || time.Since(began) >= p.MaximumBatchingWindow) {
			batch, rest := p.held[:n:n], p.held[n:]
			if p.held = rest; p.isFIFO() {
				// They may be of a group of this batch. They come again when their visibility timeout is over.
				p.held = nil
				p.groups.take(batch)
			}
			return batch, nil
		}
		if err := sleep(ctx, p.poll()); err != nil {
			return nil, err
		}
	}
}

// receive adds what the queue has to what is held, as long as there is room in a batch. The queue's own visibility timeout counts, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html.
func (p *Pump) receive(ctx context.Context) error {
	for room := p.batchSize() - len(p.held); room > 0; room = p.batchSize() - len(p.held) {
		out, err := p.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(p.QueueURL), MaxNumberOfMessages: int32(min(room, maxReceive)), MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			return fmt.Errorf("queuepump: receive: %w", err)
		}
		if err := p.take(out.Messages); err != nil {
			return err
		}
		if len(out.Messages) == 0 || p.MaximumBatchingWindow == 0 {
			return nil
		}
	}
	return nil
}

// take keeps messages for the next batch, except those of a group of a FIFO queue that is being handled. There are never more invocations
// at once than groups, see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html. The queue locks the group, too, but only
// until its visibility timeout is over; what comes then is left, and comes again.
func (p *Pump) take(received []types.Message) error {
	var taken []message
	for _, r := range received {
		m, err := newMessage(r, p.QueueARN)
		if err != nil {
			return err
		}
		taken = append(taken, m)
	}
	if p.isFIFO() {
		taken = p.groups.free(taken)
	}
	p.held = append(p.held, taken...)
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
