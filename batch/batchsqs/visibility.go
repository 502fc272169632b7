// Package batchsqs sets the visibility timeouts of messages with the client of SQS, for package
// batch.
package batchsqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Client is what [Visibility] needs of a client of SQS. [*sqs.Client] implements it.
type Client interface {
	ChangeMessageVisibilityBatch(ctx context.Context, in *sqs.ChangeMessageVisibilityBatchInput,
		optFns ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error)
}

const (
	maxEntries = 10 // the quota of one call
	// longest is the longest visibility timeout, see
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html.
	longest = 12 * time.Hour
)

// Visibility returns a function for batch.Config.Visibility. The queue is that of the function,
// given by its URL. Its role needs sqs:ChangeMessageVisibility, which AWS's managed policy
// AWSLambdaSQSQueueExecutionRole does not have.
//
// The function rounds a time up to whole seconds. It returns an error if SQS does not take all of
// it, or if the messages are of another queue: then it sends nothing. It is safe for concurrent
// use. Visibility panics if the client is nil or the URL is empty.
func Visibility(client Client, queueURL string) func(ctx context.Context, messages []events.SQSMessage,
	after time.Duration) error {
	if client == nil || queueURL == "" {
		panic(fmt.Sprintf("batchsqs.Visibility: the client (%T) or the URL of the queue (%q) is missing",
			client, queueURL))
	}
	return func(ctx context.Context, messages []events.SQSMessage, after time.Duration) error {
		seconds := int32((min(after, longest) + time.Second - 1) / time.Second) //nolint:gosec // at most 43,200
		if err := sameQueue(queueURL, messages); err != nil {
			return err
		}
		var errs []error
		for some := range slices.Chunk(messages, maxEntries) {
			in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: aws.String(queueURL)}
			for i, m := range some {
				in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
					Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.ReceiptHandle),
					VisibilityTimeout: seconds,
				})
			}
			if out, err := client.ChangeMessageVisibilityBatch(ctx, in); err != nil {
				errs = append(errs, fmt.Errorf("batchsqs: %w", err))
			} else if len(out.Failed) > 0 {
				errs = append(errs, fmt.Errorf("batchsqs: SQS did not change the visibility of %d of %d messages: %s",
					len(out.Failed), len(some), aws.ToString(out.Failed[0].Code)))
			}
		}
		return errors.Join(errs...)
	}
}

// sameQueue compares the names of the queue: the last parts of a URL and of an ARN.
func sameQueue(queueURL string, messages []events.SQSMessage) error {
	name := queueURL[strings.LastIndex(queueURL, "/")+1:]
	for _, m := range messages {
		arn := m.EventSourceARN
		if from := arn[strings.LastIndex(arn, ":")+1:]; from != "" && from != name {
			return fmt.Errorf("batchsqs: a message is of the queue %q, and the URL is that of %q", from, name)
		}
	}
	return nil
}
