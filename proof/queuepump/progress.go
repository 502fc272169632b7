package queuepump

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// progress is what a pump has come to. It is safe for concurrent use.
type progress struct {
	mu       sync.Mutex
	running  int
	failures int
	over     bool
	err      error
}

// enough is how often in a row a queue is seen empty before it is.
const enough = 2

// Idle waits until the queue is empty and no invocation goes on: all that was in it is handled, or moved to a dead-letter queue. It returns
// an error if ctx or the pump ends before. It takes the numbers of messages for exact, which those of AWS are not, and looks twice: a message
// whose visibility timeout ends while a server counts is in neither number.
func (p *Pump) Idle(ctx context.Context) error {
	for empty := 0; ; {
		if over := p.progress.ended(); over != nil {
			return over
		}
		left, err := p.left(ctx)
		if err != nil {
			return err
		}
		if empty++; left > 0 || !p.progress.idle() {
			empty = 0
		}
		if empty == enough {
			return nil
		}
		if err := sleep(ctx, p.poll()); err != nil {
			return fmt.Errorf("queuepump: not everything is handled: %w", err)
		}
	}
}

// Failures is how many batches have failed as a whole.
func (p *Pump) Failures() int {
	p.progress.mu.Lock()
	defer p.progress.mu.Unlock()
	return p.progress.failures
}

// left is how many messages are in the queue: visible, in flight and delayed, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html.
func (p *Pump) left(ctx context.Context) (n int, err error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
	out, err := p.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: aws.String(p.QueueURL), AttributeNames: names})
	if err != nil {
		return 0, fmt.Errorf("queuepump: count the messages: %w", err)
	}
	for _, name := range names {
		some, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0, fmt.Errorf("queuepump: count the messages: %w", err)
		}
		n += some
	}
	return n, nil
}

func (g *progress) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *progress) begin()        { g.change(func() { g.running++ }) }
func (g *progress) done()         { g.change(func() { g.running-- }) }
func (g *progress) failed()       { g.change(func() { g.failures++ }) }
func (g *progress) end(err error) { g.change(func() { g.over, g.err = true, err }) }

func (g *progress) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running == 0
}

func (g *progress) ended() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		return nil
	}
	return errors.Join(errors.New("queuepump: the pump has ended"), g.err)
}
