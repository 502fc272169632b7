package memqueue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// maxEntries is what a batch request has at most, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessageBatch.html.
const maxEntries = 10

// maxVisibility is documented at
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html.
const maxVisibility = 43_200

// DeleteMessageBatch deletes messages by their receipt handles, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html. Of a message that was received again since,
// an older handle deletes nothing, and a FIFO queue refuses one whose visibility timeout is over.
func (q *Queue) DeleteMessageBatch(
	_ context.Context, in *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options),
) (*sqs.DeleteMessageBatchOutput, error) {
	if err := checkEntries(len(in.Entries)); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	out := &sqs.DeleteMessageBatchOutput{}
	for _, entry := range in.Entries {
		m, known := q.byReceipt[aws.ToString(entry.ReceiptHandle)]
		if !known {
			out.Failed = append(out.Failed, failure(entry.Id, "ReceiptHandleIsInvalid", "the receipt handle is invalid"))
			continue
		}
		current := *m.ReceiptHandle == *entry.ReceiptHandle
		if q.FIFO && !m.deleted && (!current || !m.inFlight(now)) {
			out.Failed = append(out.Failed, failure(entry.Id, "InvalidParameterValue", "the receipt handle has expired"))
			continue
		}
		m.deleted = m.deleted || current
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{Id: entry.Id})
	}
	q.compact()
	return out, nil
}

// ChangeMessageVisibilityBatch sets from now on for how long messages that are in flight are not given again, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html.
func (q *Queue) ChangeMessageVisibilityBatch(
	_ context.Context, in *sqs.ChangeMessageVisibilityBatchInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	if err := checkEntries(len(in.Entries)); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	out := &sqs.ChangeMessageVisibilityBatchOutput{}
	for _, entry := range in.Entries {
		m, known := q.byReceipt[aws.ToString(entry.ReceiptHandle)]
		switch {
		case !known || m.deleted:
			out.Failed = append(out.Failed, failure(entry.Id, "ReceiptHandleIsInvalid", "the receipt handle is invalid"))
		case entry.VisibilityTimeout < 0 || entry.VisibilityTimeout > maxVisibility:
			text := fmt.Sprintf("%d is not between 0 and %d", entry.VisibilityTimeout, maxVisibility)
			out.Failed = append(out.Failed, failure(entry.Id, "InvalidParameterValue", text))
		case *m.ReceiptHandle != *entry.ReceiptHandle || !m.inFlight(now):
			out.Failed = append(out.Failed, failure(entry.Id, "MessageNotInflight", "the message is not in flight"))
		default:
			m.invisible = now.Add(time.Duration(entry.VisibilityTimeout) * time.Second)
			out.Successful = append(out.Successful, types.ChangeMessageVisibilityBatchResultEntry{Id: entry.Id})
		}
	}
	return out, nil
}

// GetQueueAttributes gives the numbers of messages, which are exact here.
func (q *Queue) GetQueueAttributes(
	context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options),
) (*sqs.GetQueueAttributesOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, hidden := time.Now(), 0
	for _, m := range q.messages {
		if m.inFlight(now) {
			hidden++
		}
	}
	return &sqs.GetQueueAttributesOutput{Attributes: map[string]string{
		string(types.QueueAttributeNameApproximateNumberOfMessages):           strconv.Itoa(len(q.messages) - hidden),
		string(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible): strconv.Itoa(hidden),
		string(types.QueueAttributeNameApproximateNumberOfMessagesDelayed):    "0",
	}}, nil
}

func checkEntries(n int) error {
	switch {
	case n == 0:
		return refused("AWS.SimpleQueueService.EmptyBatchRequest", "there are no entries")
	case n > maxEntries:
		return refused("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", fmt.Sprintf("%d entries are more than %d", n, maxEntries))
	default:
		return nil
	}
}

func failure(id *string, code, message string) types.BatchResultErrorEntry {
	return types.BatchResultErrorEntry{Id: id, Code: aws.String(code), Message: aws.String(message), SenderFault: true}
}
