package queuepump

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// maxDelete is how many messages one call deletes, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessageBatch.html.
const maxDelete = 10

// handle hands a batch over once and deletes what is handled, see https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html. If the function
// fails, nothing is deleted, and the messages come again after the visibility timeout, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html.
func (p *Pump) handle(ctx context.Context, batch []message) error {
	p.progress.begin()
	defer p.progress.done()
	response, err := p.Invoke(ctx, payloadOf(batch))
	p.groups.giveBack(batch) // the queue locks them until they are deleted
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was not waited for is not handled
	}
	done := batch
	if err == nil && p.ReportBatchItemFailures {
		done, err = handled(batch, response)
	}
	if err != nil {
		p.progress.failed()
		return nil // the messages come again
	}
	return p.remove(ctx, done)
}

// remove deletes messages. One that the queue does not let go, because its visibility timeout was over before, comes again.
func (p *Pump) remove(ctx context.Context, done []message) error {
	for some := range slices.Chunk(done, maxDelete) {
		entries := make([]types.DeleteMessageBatchRequestEntry, len(some))
		for i, m := range some {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.receiptHandle)}
		}
		_, err := p.Client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(p.QueueURL), Entries: entries})
		if err != nil {
			return fmt.Errorf("queuepump: delete: %w", err)
		}
	}
	return nil
}
