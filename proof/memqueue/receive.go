package memqueue

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// senderID is that of every message.
const senderID = "AIDAIT2UOQQY3AUEKVGXU"

// ReceiveMessage gives messages that are not in flight, oldest first, with all attributes, and does not wait for any. A message that was
// received as often as it may is moved to the dead-letter queue instead, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html.
func (q *Queue) ReceiveMessage(_ context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	out := &sqs.ReceiveMessageOutput{}
	limit := max(1, int(in.MaxNumberOfMessages))
	for _, m := range q.available(now) {
		if len(out.Messages) >= limit {
			break
		}
		if q.DeadLetters != nil && m.receives >= q.MaxReceiveCount {
			q.moveAway(m, now)
			continue
		}
		copies := 1
		if q.Twice != nil && !q.FIFO && len(out.Messages)+1 < limit && q.Twice(m.Message) {
			copies = 2
		}
		for range copies {
			out.Messages = append(out.Messages, q.receive(m, now))
		}
	}
	q.compact()
	return out, nil
}

// available are the messages that can be received, in order.
//
// While a message of a group is in flight, no other one of the group is given, and as many of one group as possible are given, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html.
func (q *Queue) available(now time.Time) (all []*message) {
	locked, first := map[string]bool{}, map[string]int{}
	for _, m := range q.messages {
		if q.FIFO && m.inFlight(now) {
			locked[m.group] = true
		}
	}
	for _, m := range q.messages {
		if m.inFlight(now) || locked[m.group] {
			continue
		}
		if _, there := first[m.group]; !there {
			first[m.group] = len(first)
		}
		all = append(all, m)
	}
	if q.FIFO {
		slices.SortStableFunc(all, func(a, b *message) int { return first[a.group] - first[b.group] })
	}
	return all
}

// receive gives a message once, with a receipt handle of its own, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-message-identifiers.html.
func (q *Queue) receive(m *message, now time.Time) types.Message {
	if m.receives == 0 {
		m.first = now
	}
	m.receives++
	m.invisible = now.Add(q.visibilityTimeout())
	m.ReceiptHandle = aws.String(rand.Text())
	if q.byReceipt == nil {
		q.byReceipt = make(map[string]*message)
	}
	q.byReceipt[*m.ReceiptHandle] = m
	given := m.Message
	given.Attributes = q.attributesOf(m)
	return given
}

// attributesOf are those of https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html.
func (q *Queue) attributesOf(m *message) map[string]string {
	a := map[string]string{
		"ApproximateReceiveCount": strconv.Itoa(m.receives), "ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10),
		"SentTimestamp": strconv.FormatInt(m.sentAt.UnixMilli(), 10), "SenderId": senderID,
	}
	if m.group != "" { // a fair queue is a standard one with groups
		a["MessageGroupId"] = m.group
	}
	if q.FIFO {
		a["MessageDeduplicationId"], a["SequenceNumber"] = m.dedup, *sequenceText(m.sequence)
	}
	if m.from != "" {
		a["DeadLetterQueueSourceArn"] = m.from
	}
	return a
}

// moveAway moves a message to the dead-letter queue. It keeps its id, and its deduplication id becomes that, see
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html.
func (q *Queue) moveAway(m *message, now time.Time) {
	m.deleted = true
	moved := &message{Message: m.Message, group: m.group, dedup: *m.MessageId, sentAt: m.sentAt, from: q.ARN, receives: m.receives, first: m.first}
	if q.FIFO {
		moved.sentAt = now
	}
	q.DeadLetters.mu.Lock()
	defer q.DeadLetters.mu.Unlock()
	q.DeadLetters.add(moved)
}

func (q *Queue) compact() {
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return m.deleted })
}

func (q *Queue) visibilityTimeout() time.Duration {
	if q.VisibilityTimeout == 0 {
		return DefaultVisibilityTimeout
	}
	return q.VisibilityTimeout
}
