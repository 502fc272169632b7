package memqueue

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// deduplicationInterval is documented at
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html.
const deduplicationInterval = 5 * time.Minute

// sent is a message that was accepted.
type sent struct {
	id       string
	sequence int
	at       time.Time
}

// SendMessage adds a message. A FIFO queue accepts one whose deduplication id it has seen within the interval, and drops it, also after the
// first one was deleted, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html.
func (q *Queue) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	m := &message{
		Message: types.Message{
			MessageId: aws.String(rand.Text()), Body: in.MessageBody, MD5OfBody: aws.String(md5Of(*in.MessageBody)), MessageAttributes: in.MessageAttributes,
		},
		group: aws.ToString(in.MessageGroupId), dedup: aws.ToString(in.MessageDeduplicationId), sentAt: now,
	}
	if q.FIFO {
		if m.group == "" {
			return nil, refused("MissingParameter", "the request must contain the parameter MessageGroupId")
		}
		if m.dedup == "" && q.ContentBasedDeduplication {
			m.dedup = fmt.Sprintf("%x", sha256.Sum256([]byte(*in.MessageBody)))
		}
		if m.dedup == "" {
			return nil, refused("InvalidParameterValue", "the queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided")
		}
		if before, seen := q.sent[m.dedup]; seen && now.Sub(before.at) < deduplicationInterval {
			return &sqs.SendMessageOutput{MessageId: aws.String(before.id), MD5OfMessageBody: m.MD5OfBody, SequenceNumber: sequenceText(before.sequence)}, nil
		}
	}
	q.add(m)
	out := &sqs.SendMessageOutput{MessageId: m.MessageId, MD5OfMessageBody: m.MD5OfBody}
	if q.FIFO {
		out.SequenceNumber = sequenceText(m.sequence)
	}
	return out, nil
}

// add puts a message behind all others.
func (q *Queue) add(m *message) {
	q.sequence++
	m.sequence = q.sequence
	q.messages = append(q.messages, m)
	if !q.FIFO {
		return
	}
	if q.sent == nil {
		q.sent = make(map[string]sent)
	}
	q.sent[m.dedup] = sent{*m.MessageId, m.sequence, m.sentAt}
}

func sequenceText(n int) *string { return aws.String(fmt.Sprintf("%020d", n)) }

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func refused(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}
